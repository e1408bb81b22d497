"""`git`: options before the subcommand, options that run something, and what depends on files and settings.

What a subcommand discards, publishes or runs is in the table, in rows such as `git-push`.
"""

import re
from collections.abc import Sequence

from toolgate.command.analysis.effects import apply_facts
from toolgate.command.analysis.options import Options, has, next_word, operands, option_values
from toolgate.command.analysis.paths import Zone
from toolgate.command.analysis.program import UNKNOWN, program
from toolgate.command.analysis.scope import Scope
from toolgate.command.words import UNRESOLVED, Word

_COMMAND_KEYS = re.compile(
    r"alias\.|core\.(pager|editor|sshcommand|fsmonitor|askpass)|pager\.|diff\.|sequence\.editor|.*cmd$"
)
_HARMLESS_KEYS = re.compile(
    r"(?:color|column|advice|status)\.[\w.-]+|user\.(?:name|email)|init\.defaultbranch|commit\.gpgsign"
    r"|log\.(?:date|abbrevcommit|decorate|follow)|diff\.(?:context|[a-z]*color|renames|algorithm|noprefix|mnemonicprefix)"
    r"|core\.(?:quotepath|abbrev|autocrlf|safecrlf|eol|filemode|ignorecase|precomposeunicode)"
)
_CONFIG_READS = Options.read("--get --get-all --get-regexp --get-urlmatch --list -l".split())
_CONFIG_WRITES = Options.read(
    "--add --unset --unset-all --replace-all --remove-section --rename-section --edit -e".split()
)
_EARLIER_COMMIT = re.compile(r"(?:HEAD|@)?[~^]|(?:HEAD|@)@|origin/|[0-9a-f]{7,40}$|.*[~^]\d*$", re.DOTALL)
_PATTERNS = frozenset({"--exclude", "--include", "--glob", "--branches", "--tags", "--remotes", "--word-diff-regex"})
"""Options whose value is a pattern, not a path."""
_HELPER = re.compile(r"\w[\w-]*::")
"""An address with the name of the program that talks to the server, such as `ext::sh -c …`."""


def git(scope: Scope, words: Sequence[Word]) -> None:
    """Analyse one git command."""
    at, safe, directories = _global_options(scope, words)
    _analyse_settings(scope, directories, words[at].text if at < len(words) else "")
    if at >= len(words) or not safe:
        scope.findings.commands[tuple(word.text for word in words)] = None
    if at >= len(words):
        return
    verb, rest = words[at], words[at + 1 :]
    scope.findings.commands[("git", *(word.text for word in words[at:]))] = None
    if not verb.known:
        scope.findings.add_unclear("the git command is only known when it runs")
        return
    facts = program(f"git-{verb.text}")
    if facts is UNKNOWN:
        scope.findings.add_unclear(f"'git {verb.text}' is an alias or an unknown command")
    apply_facts(scope, words[at:], facts, subcommand=True)
    _note_paths(scope, verb.text, rest)


def _analyse_settings(scope: Scope, directories: Sequence[str | None], verb: str) -> None:
    """Analyse the commands that the repository's settings make git run. No rule covers git in an unknown directory."""
    for directory in directories:
        if directory is None:
            scope.findings.add_uncovered()
        elif not directory.startswith("/"):
            for code in scope.surroundings.git_programs(directory, verb):
                scope.analyse_code(code)


def _global_options(scope: Scope, words: Sequence[Word]) -> tuple[int, bool, Sequence[str | None]]:
    """Return the position of the git command, whether the options before it are harmless, and where git runs."""
    at, safe = 1, True
    directories: Sequence[str | None] = scope.cwds
    while at < len(words) and words[at].text.startswith("-"):
        name, equals, value = words[at].text.partition("=")
        if name in program("git").values and not equals:
            value = next_word(words, at).text
            at += 1
        if name == "-C":
            directories = _elsewhere(scope, value, directories)
        elif name not in program("git").flags:
            safe = False
            _risky_option(scope, name, value)
        at += 1
    if not words[min(at, len(words)) - 1].known:
        scope.findings.add_unclear("an option of git is only known when it runs")
    return at, safe, directories


def _elsewhere(scope: Scope, value: str, directories: Sequence[str | None]) -> Sequence[str | None]:
    """Return the directories that `git -C value` leads to, from those of the previous `-C`."""
    before, scope.cwds = scope.cwds, tuple(directories)
    location = scope.note_path(value)
    scope.cwds = before
    if location.zone is Zone.inside:
        return location.paths
    return (None,) if location.zone is Zone.unknown else ()


def _risky_option(scope: Scope, name: str, value: str) -> None:
    if name in ("--git-dir", "--work-tree"):
        scope.note_path(value)
    elif name == "-c" and _HARMLESS_KEYS.fullmatch(value.partition("=")[0].lower()):
        return
    elif name in ("-c", "--config-env", "--exec-path"):
        key, _, command = value.partition("=")
        if _COMMAND_KEYS.match(key.lower()):
            scope.analyse_code(command.removeprefix("!"))
        scope.findings.add_danger(f"'git {name} {value}' changes what git runs")


def clone(scope: Scope, words: Sequence[Word]) -> None:
    """`git clone -c name=value`: a setting of the new repository, which git obeys while it clones."""
    for value in option_values(words, ("-c", "--config"), program("git-clone").values):
        _risky_option(scope, "-c", value.text)


def bundle(scope: Scope, words: Sequence[Word]) -> None:
    """`git bundle create file`: the file that it writes."""
    given = operands(words)
    if [word.text for word in given[:1]] == ["create"]:
        for target in given[1:2]:
            scope.note_write(target)


def checkout(scope: Scope, words: Sequence[Word]) -> None:
    """`git checkout`: whether its operands are files, or a branch."""
    texts = [word.text for word in words[1:]]
    given = [text for text in texts if not text.startswith("-")]
    creates = has(words, "-b", "--orphan", "-c", "--create", only_letters=True)
    files = not creates and (len(given) > 1 or any(_exists(scope, text) for text in given))
    if files or "--" in texts or has(words, "--pathspec-from-file", only_letters=True):
        scope.findings.add_danger("it discards uncommitted work")


def _exists(scope: Scope, text: str) -> bool:
    if UNRESOLVED in text or any(letter in text for letter in "*?["):
        return "." in text
    location = scope.locate(text)
    return location.zone is Zone.inside and any(scope.surroundings.kind(path) != "absent" for path in location.paths)


def reset(scope: Scope, words: Sequence[Word]) -> None:
    """`git reset commit`: whether the branch loses commits."""
    given = operands(words)
    first = given[0].text if given else "HEAD"
    elsewhere = first not in ("HEAD", "@") and not _exists(scope, first) and not first.startswith(UNRESOLVED)
    if "--" not in [word.text for word in words] and (elsewhere or any(_EARLIER_COMMIT.match(w.text) for w in given)):
        scope.findings.add_danger("it takes commits off the branch")


def config(scope: Scope, words: Sequence[Word]) -> None:
    """`git config --global name` shows a setting; with a value after the name it changes one."""
    if not has(words, "--global", "--system", only_letters=True):
        return
    given = [word.text for word in operands(words)]
    shows = given[:1] in (["list"], ["get"]) or (len(given) == 1 and "." in given[0])
    shows = shows or _CONFIG_READS.given(words, only_letters=True)
    if not shows or _CONFIG_WRITES.given(words, only_letters=True):
        scope.findings.add_danger("it changes settings outside the root")


def _note_paths(scope: Scope, verb: str, rest: Sequence[Word]) -> None:
    """Note operands outside the root; messages and patterns are not paths."""
    if verb in ("grep", "commit", "notes") and not any(word.text == "--" for word in rest):
        return
    skip = False
    for word in rest:
        if skip or word.text.startswith("-"):
            option, _, value = word.text.partition("=")
            if not skip and option not in program("git").texts | _PATTERNS and _leads_out(value):
                scope.note_path(value)
            skip = not skip and word.text in program("git").texts
            continue
        if _HELPER.match(word.text):
            scope.findings.add_unclear(f"'{word.text}' makes git run another program")
        if _leads_out(word.text):
            scope.note_path(word.text)


def _leads_out(text: str) -> bool:
    """Whether a text may be a path outside the root."""
    return text.startswith(("/", "~")) or ".." in text.split("/")
