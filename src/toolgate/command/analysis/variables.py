"""Variables that change what a command runs."""

import functools
import re
from collections.abc import Sequence

from toolgate.command.analysis.plan import Assignment
from toolgate.command.analysis.program import program
from toolgate.command.analysis.scope import Scope
from toolgate.command.words import UNRESOLVED, Word

_CODE = re.compile(
    r"[A-Z_]*(?:PAGER|EDITOR|BROWSER)|(?:[A-Z]+_)*SHELL|VISUAL|PROMPT_COMMAND|HGMERGE|[A-Z]+_RSH|SVN_SSH"
    r"|RSYNC_CONNECT_PROG|npm_config_(?:editor|script_shell|viewer)"
)
"""Variables whose value is itself a command."""
_OPTIONS = {
    "GNUMAKEFLAGS": "make",
    "GOFLAGS": "go",
    "GZIP": "gzip",
    "LESS": "less",
    "MAKEFLAGS": "make",
    "MANOPT": "man",
    "MFLAGS": "make",
    "MORE": "more",
    "TAR_OPTIONS": "tar",
    "ZIPOPT": "zip",
}
"""Variables whose value is options that a program reads before its own."""
_REDEFINES = re.compile(
    r"LD_\w+|DYLD_\w+|BASH_ENV|ENV|BASH_FUNC_.*|BASH_CMDS|BASH_ALIASES|SHELLOPTS|BASHOPTS|PS4|GLIBC_TUNABLES|GCONV_PATH|BASH_LOADABLES_PATH"
    r"|GIT_EXEC_PATH|GIT_SSH|GIT_SSH_COMMAND|GIT_ASKPASS|SSH_ASKPASS|GIT_EXTERNAL_DIFF|GIT_PROXY_COMMAND|GIT_CONFIG\w*"
    r"|GIT_ALLOW_PROTOCOL|LUA_INIT\w*|LESSKEY\w*|ZDOTDIR|GIT_TEMPLATE_DIR|PERL5OPT|PERL5DB|RUBYOPT|PYTHONSTARTUP|PYTHONWARNINGS|PYTHONHOME|LESSOPEN|LESSCLOSE"
)
"""Variables that make an ordinary command run something else."""
_PROMPTS = re.compile(r"PS[0-3]")
"""Prompts, in which bash expands commands."""
_NUMBERS = re.compile(r"RANDOM|SRANDOM|OPTIND|HISTCMD|SECONDS|LINENO|FUNCNEST|BASHPID|EPOCH\w+")
"""Variables for which bash evaluates what is assigned."""


def assign(scope: Scope, name: str, value: Word, words: Sequence[Word] | None) -> None:
    """Note that `name` is set, for the command `words` or (None) for the shell."""
    findings = scope.findings
    findings.assignments.append(Assignment(name=name, value=value.text))
    if words is not None or not name.islower():
        findings.commands[("=", name, value.text)] = None
    if _NUMBERS.fullmatch(name):
        findings.evaluates = True
    if name == UNRESOLVED:
        findings.add_unclear("it sets a variable whose name is only known when it runs")
    elif name == "PATH":
        _path(scope, value, words)
    elif _PROMPTS.fullmatch(name) and ("$(" in value.text or "`" in value.text):
        findings.add_unclear(f"'{name}' runs what is in it when a shell shows it")
    elif name in _OPTIONS:
        _options(scope, name, value)
    elif (meaning := _meaning(name)) == "code":
        _command(scope, name, value)
    elif meaning and not (words and words[0].known and words[0].text.startswith(("./", "../"))):
        # a program of the project itself may be given any variable
        findings.add_danger(f"'{name}' changes what commands run", sure=False)


@functools.lru_cache(maxsize=1024)
def _meaning(name: str) -> str:
    """`code` for a variable that holds a command, `redefines` for one that changes what commands run, else empty."""
    if _CODE.fullmatch(name):
        return "code"
    return "redefines" if _REDEFINES.fullmatch(name) else ""


def _path(scope: Scope, value: Word, words: Sequence[Word] | None) -> None:
    """A `PATH` that does not begin with the old one may put something in front of every command."""
    if value.raw.lstrip('"').startswith(("$PATH:", "${PATH}:", "PATH=$PATH:", 'PATH="$PATH:')):
        return
    if not words or words[0].text in ("export", "declare", "typeset", "local", "readonly"):
        scope.path_changed = True
    elif program(words[0].text).well_known:
        reason = f"'PATH' is changed for '{words[0].text}', which may then be another program"
        scope.findings.add_danger(reason, sure=False)


def _command(scope: Scope, name: str, value: Word) -> None:
    if not value.text:
        return
    if not value.known:
        scope.findings.add_unclear(f"'{name}' names a command that is only known when it runs")
    elif name != "SHELL":
        scope.analyse_code(value.text)


def _options(scope: Scope, name: str, value: Word) -> None:
    """Analyse the program with these options, as if they followed its name."""
    if not value.known:
        scope.findings.add_unclear(f"'{name}' holds options that are only known when it runs")
    before, scope.stdin = scope.stdin, None
    scope.analyse_command([Word(_OPTIONS[name]), *(Word(word) for word in value.text.split())])
    scope.stdin = before
