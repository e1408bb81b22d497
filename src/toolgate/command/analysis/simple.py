"""One simple command: what it is, what it runs, what it touches."""

import posixpath
import re
from collections.abc import Callable, Sequence

from toolgate.command.analysis import copying, dangers, files, interpreters, programs, runners
from toolgate.command.analysis.abbreviations import spelled_out
from toolgate.command.analysis.binding import bind
from toolgate.command.analysis.git import git
from toolgate.command.analysis.known import (
    INPUTS,
    NO_PATHS,
    ORDINARY,
    PATTERN_FIRST,
    PATTERN_OPTIONS,
    READ_ONLY,
    TEXT_OPTIONS,
    WELL_KNOWN,
    names,
)
from toolgate.command.analysis.outputs import OUTPUTS, converted, converted_in_place, outputs, outputs_of_unknown
from toolgate.command.analysis.scope import Scope
from toolgate.command.analysis.sed import edits_in_place, sed
from toolgate.command.analysis.unknown import suspect
from toolgate.command.analysis.unwrap import unwrap
from toolgate.command.analysis.variables import assign
from toolgate.command.analysis.wrappers import WRAPPERS
from toolgate.command.words import UNRESOLVED, Word

_SYSTEM = re.compile(r"/(?:usr/(?:local/)?)?s?bin/([^/]+)")
_KEYWORDS = names("! { } [[ ]] if then elif else fi for while until do done case esac in select function")
_ATTACHED_PATH = re.compile(r"-(?![IL]/)[A-Za-z]+([/~].+|\.\./.*)")
"""`-C/path`; `-I/path` and `-L/path` name what a compiler reads."""
_HIDDEN = re.compile(r"`|\$\(|\$\{|[<>]\(")


def run(scope: Scope, words: Sequence[Word]) -> None:
    """Look at one simple command."""
    found = scope.found
    head = words[0]
    if not head.known:
        found.commands[tuple(word.text for word in words)] = None
        found.unclear(f"the command word '{head.raw or head.text}' is only known when it runs")
        return
    system = _SYSTEM.fullmatch(head.text) if "/" in head.text else None
    if system:
        words = [head._replace(text=system.group(1)), *words[1:]]
    elif "/" in head.text:
        _program(scope, words)
        return
    name = words[0].text
    if name in _KEYWORDS and not head.quoted:
        found.unclear(f"'{name}' stands where a command is expected")
    if not system and _redefined(scope, words):
        return
    words = spelled_out(words)
    bind(scope, words)
    handler = _HANDLERS.get(name)
    if handler is not git:
        found.commands[tuple([word.text for word in words])] = None
    if name not in READ_ONLY:
        found.changes = True
    if handler is not None:
        handler(scope, words)
    elif name in WRAPPERS:
        unwrap(scope, words, WRAPPERS[name])
    elif interpreters.is_interpreter(name):
        interpreters.interpreter(scope, words)
    if name in OUTPUTS:
        outputs(scope, words)
    dangers.judge(scope, words)
    if name not in _RECOGNISED and not interpreters.is_interpreter(name):
        suspect(scope, words)
        outputs_of_unknown(scope, words)
    if name not in NO_PATHS and handler not in _OWN_PATHS:
        _paths(scope, words)


def _program(scope: Scope, words: Sequence[Word]) -> None:
    """A program that is named by its path: the project's own, or one from outside the root."""
    found = scope.found
    found.changes = True
    found.commands[tuple(word.text for word in words)] = None
    base = posixpath.basename(words[0].text)
    if base in WELL_KNOWN or base in dangers.ALWAYS:
        found.commands[(base, *(word.text for word in words[1:]))] = None
    scope.script(words[0])
    bind(scope, words)
    dangers.verbs(scope, [words[0]._replace(text=base), *words[1:]])
    if base in WRAPPERS or base in interpreters.SHELLS or interpreters.is_interpreter(base):
        scope.run([words[0]._replace(text=base), *words[1:]])
    else:
        if base not in _RECOGNISED:
            suspect(scope, words)
        _paths(scope, words)


def _redefined(scope: Scope, words: Sequence[Word]) -> bool:
    """Whether the shell's state gives the word another meaning; it then counts as what it may run."""
    name, around = words[0].text, scope.around
    if name not in around.aliases and name not in around.functions:
        return _shadowed(scope, words)
    if name in scope.expanding:
        return False
    before = scope.expanding
    scope.expanding = before | {name}
    try:
        if name in around.aliases and not words[0].quoted:
            rest = " ".join(word.raw or word.text for word in words[1:])
            scope.found.changes = True
            scope.found.definitions[name] = around.aliases[name]
            scope.code(f"{around.aliases[name]} {rest}", here=True)
            return True
        if name in around.functions:
            scope.found.changes = True
            scope.found.definitions[name] = around.functions[name]
            scope.found.commands[tuple(word.text for word in words)] = None
            scope.code(around.functions[name], here=True)
            return True
    finally:
        scope.expanding = before
    return _shadowed(scope, words)


def _shadowed(scope: Scope, words: Sequence[Word]) -> bool:
    name = words[0].text
    file = scope.around.shadows(name)
    if file is not None:
        scope.found.scripts[file] = None
        scope.found.commands[(f"./{file}", *(word.text for word in words[1:]))] = None
        scope.found.changes = True
        if name in WELL_KNOWN:
            scope.found.danger(f"'{name}' is '{file}' here, because 'PATH' finds that first")
    elif scope.path_changed and name in WELL_KNOWN and name not in NO_PATHS:
        reason = f"'PATH' is changed before '{name}', which may then be another program"
        scope.found.danger(reason, sure=False)
    return False


def _paths(scope: Scope, words: Sequence[Word]) -> None:
    """Note every word that is a path outside the root."""
    if not any("/" in word.text or "~" in word.text or ".." in word.text for word in words):
        return
    pattern = words[0].text in PATTERN_FIRST and not any(
        word.text in ("-e", "-f", "--regexp", "--file", "--expression") for word in words
    )
    skip = False
    name = words[0].text
    text_options = TEXT_OPTIONS.get(name, frozenset())
    reads = name in INPUTS or (name in READ_ONLY and not edits_in_place(words))
    last_source = len(words) if name == "cp" and copying.target_directory(words) else len(words) - 1
    for at, word in enumerate(words[1:], 1):
        text = word.text
        if skip:
            skip = False
            continue
        if text.startswith("-"):
            skip = text in PATTERN_OPTIONS or text in text_options
            text = _option_value(text, only_text=reads or name in PATTERN_FIRST)
        elif pattern:
            pattern = False
            continue
        for piece in _pieces(text):
            if piece.startswith(("/", "~")) or ".." in piece.split("/"):
                scope.path(piece, reads=reads or (name == "cp" and at < last_source))


def _option_value(text: str, *, only_text: bool) -> str:
    """What an option names behind `=`, or behind its letter unless that is `only_text`; empty if neither."""
    _, equals, value = text.partition("=")
    if equals:
        return value
    attached = None if only_text else _ATTACHED_PATH.fullmatch(text)
    return attached.group(1) if attached else ""


def _pieces(text: str) -> list[str]:
    """The text as a path, what stands behind its first `=`, and the alternatives of a brace expansion."""
    pieces = [text]
    if "=" in text and "://" not in text:
        pieces.append(text.partition("=")[2])
    if "{" in text and "," in text:
        pieces.extend(re.split(r"[{},]", text))
    return pieces


def _names(scope: Scope, words: Sequence[Word]) -> None:
    """`read`, `mapfile`, `printf -v`, `let` …: words that are variables, or even code in a subscript."""
    scope.found.evaluates |= words[0].text != "printf" or any(word.text.startswith("-v") for word in words)
    for at, word in enumerate(words[1:], 1):
        if _HIDDEN.search(word.text) and words[0].text not in ("printf", "echo"):
            scope.found.unclear(f"'{words[0].text}' evaluates '{word.raw or word.text}'")
        if words[0].text == "printf":
            if words[at - 1].text == "-v":
                _named(scope, word)
        elif not word.text.startswith("-"):
            _named(scope, word)
        elif word.text in ("-C", "-c") and words[0].text in ("mapfile", "readarray") and at + 1 < len(words):
            scope.code(words[at + 1].text)


def _named(scope: Scope, word: Word) -> None:
    name = re.split(r"[=\[+]", word.text, maxsplit=1)[0]
    if _HIDDEN.search(word.text):
        scope.found.unclear(f"it evaluates '{word.raw or word.text}'")
    if name.isidentifier() and name.isupper():
        assign(scope, name, Word(UNRESOLVED, False), None)


def _declares(scope: Scope, words: Sequence[Word]) -> None:
    """`export`, `declare` …: values are noted where they are read; here only code in a subscript and functions."""
    scope.found.evaluates = True
    for word in words[1:]:
        name = word.text.partition("=")[0]
        if "[" in name and _HIDDEN.search(name):
            scope.found.unclear(f"'{words[0].text}' evaluates '{word.raw or word.text}'")
        elif not word.known and not name.isidentifier() and not word.raw.startswith(("-", name)):
            scope.found.unclear(f"'{words[0].text}' sets a variable that is only known when it runs")


def _test(scope: Scope, words: Sequence[Word]) -> None:
    """`test` and `[`: the name behind `-v` may have a subscript."""
    scope.found.evaluates |= any(
        word.text in ("-v", "-R") or (not word.known and not _is_operand(words, at)) for at, word in enumerate(words)
    )


def _is_operand(words: Sequence[Word], at: int) -> bool:
    """Whether a quoted word of a test stands where no operator can: beside a known one."""
    if not words[at].quoted:
        return False
    before = words[at - 1].text
    after = words[at + 1].text if at + 1 < len(words) else ""
    return _UNARY.fullmatch(before) is not None or before in _BINARY or after in _BINARY


def _completes(scope: Scope, words: Sequence[Word]) -> None:
    """`compgen`: some of its options run commands."""
    if any(word.text.startswith("-") and not _LISTS.fullmatch(word.text) for word in words[1:]):
        scope.found.unclear("'compgen' may run a command")


def _history(scope: Scope, words: Sequence[Word]) -> None:
    """`fc`: runs what was typed before."""
    if not any(word.text.startswith("-l") for word in words[1:2]):
        scope.found.unclear("'fc' runs what the history holds")


_UNARY = re.compile(r"-[b-hknprstuwxzGLNOS]")
_BINARY = frozenset({"=", "==", "!=", "-eq", "-ne", "-lt", "-le", "-gt", "-ge", "-nt", "-ot", "-ef"})
_LISTS = re.compile(r"-[abcdefgjksuv]+|-A|-[PSXG]")
_Handler = Callable[[Scope, Sequence[Word]], None]
_HANDLERS: dict[str, _Handler] = {
    **dict.fromkeys(interpreters.SHELLS, interpreters.shell),
    **dict.fromkeys(("awk", "gawk", "mawk", "nawk"), interpreters.awk),
    **dict.fromkeys(("psql", "mysql", "mariadb", "sqlite3", "mongosh", "duckdb"), interpreters.sql),
    **dict.fromkeys(runners.FOREIGN_SHELLS, runners.foreign_shell),
    **dict.fromkeys(("cp", "mv", "install"), copying.copy),
    **dict.fromkeys(("gzip", "bzip2", "xz", "lzma", "lzip", "compress", "pigz", "pbzip2"), copying.compress),
    **dict.fromkeys(("convert", "magick", "gm", "ffmpeg", "sox"), converted),
    "mogrify": converted_in_place,
    "rsync": copying.rsync,
    "ln": copying.link,
    "cmake": runners.cmake,
    "jobs": runners.jobs,
    "zip": runners.zip_archive,
    "concurrently": runners.each_operand,
    **dict.fromkeys(("read", "mapfile", "readarray", "let", "printf", "unset", "getopts", "wait"), _names),
    **dict.fromkeys(("export", "declare", "typeset", "local", "readonly"), _declares),
    **dict.fromkeys(("test", "["), _test),
    **dict.fromkeys(("compgen", "complete"), _completes),
    "fc": _history,
    "eval": interpreters.evaluate,
    ".": interpreters.source,
    "source": interpreters.source,
    "trap": interpreters.trap,
    "alias": interpreters.alias,
    "git": git,
    "sed": sed,
    "gsed": sed,
    "tee": files.tee,
    "sponge": files.tee,
    "dd": files.dd,
    "sort": files.sort,
    "mkdir": files.mkdir,
    "cd": files.change_directory,
    "pushd": files.change_directory,
    "popd": files.pop_directory,
    "find": files.find,
    "gfind": files.find,
    "fd": files.fd,
    "fdfind": files.fd,
    "rg": files.ripgrep,
    "tar": files.tar,
    "split": files.split,
    "csplit": files.csplit,
    "uniq": programs.uniq,
    "openssl": programs.openssl,
    "make": programs.make,
    "gmake": programs.make,
    "gdb": programs.gdb,
    "man": programs.man,
    "capsh": programs.capsh,
    **dict.fromkeys(("m4", "dc"), programs.calculator),
    **dict.fromkeys(("vi", "vim", "nvim", "view", "vimdiff", "ex", "ed", "emacs"), programs.editor),
    **dict.fromkeys(("less", "more"), programs.pager),
}
_OWN_PATHS: frozenset[_Handler | None] = frozenset(
    {git, files.change_directory, files.find, files.csplit, copying.link, interpreters.evaluate}
)
_RECOGNISED = (
    READ_ONLY
    | WELL_KNOWN
    | NO_PATHS
    | ORDINARY
    | dangers.LISTED
    | frozenset({*_HANDLERS, *WRAPPERS, *OUTPUTS, *_KEYWORDS})
) - {"tmux", "screen"}
"""Programs whose words are judged as what they are; those of all others may be commands."""
