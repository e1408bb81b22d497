"""Programs that run code. Shell code is analysed; code of other languages is searched for what destroys or runs."""

import functools
import re
from collections.abc import Callable, Collection, Iterator, Sequence

from toolgate.command.analysis.options import next_word, operands, option_values
from toolgate.command.analysis.program import Program, program
from toolgate.command.analysis.scope import Scope, descriptor_of
from toolgate.command.analysis.unknown_programs import suspect
from toolgate.command.analysis.wrapped_command import analyse_code_words
from toolgate.command.words import UNRESOLVED, Word

_FOREIGN_CODE = re.compile(r"-[a-zA-Z]*c|--commands?|-c[a-z]*|-e|--execute", re.IGNORECASE)
_DESTROYS = re.compile(
    r"rmtree|unlink|\brmdir|removedirs|os\.remove|\.remove\(|\btruncate|rmSync|\brm\(|\.rm\b|FileUtils|File\.delete|Dir\.delete"
    r"|os\.kill|process\.kill|\bkillpg|Process\.kill|\bkill\b"
    r"|os\.system|subprocess|\bsystem\b|popen|\bexec[lv]p?e?\b|child_process|execSync|spawn|\bexec\b|shell_exec|passthru"
    r"|os\.rename|\brename\b|os\.replace|shutil\.move|renameSync|Open3|%x|\bqx\b|`|__import__|ctypes|pty\."
    r"|os\.execute|\bimport\b[^\n;]*\bremove|\bfile\s+(?:delete|rename)\b|File::Copy|\bsyscall\b|open\W{1,4}\|"
)
_SQL_SHELL = re.compile(
    r"^\s*\.(?:sh|sy|ou|on|ex|im|sa|ba|cl|lo|re|op|tr)\w*\b|\b(?:edit|writefile|load_extension)\s*\("
    r"|\\!|\\copy\b|\bsystem\b|\bprogram\b",
    re.IGNORECASE | re.MULTILINE,
)
"""Commands of database clients that run programs or write files."""
_SQL_CODE = re.compile(r"^\s*(?:\.(?:sh|sy)\w*|\\!|\\?system\b)\s*(.+)$", re.IGNORECASE | re.MULTILINE)
"""Those that run a shell command, which follows."""
_STATEMENTS = frozenset({"-c", "--command", "-e", "--execute", "--eval", "-cmd", "-s"})
_FILE_CLIENTS = frozenset({"sqlite3", "duckdb"})
"""Clients whose second operand is a statement."""
_SQL = re.compile(r"\b(?:drop|delete|truncate)\b", re.IGNORECASE)
_EDITOR_COMMANDS = re.compile(r"-[a-zA-Z]*[csS]|-[a-zA-Z]+e|--cmd|--eval(=.*)?|-f|--funcall(=.*)?|--load(=.*)?|-l|\+.*")
_CLUSTER = re.compile(r"-[a-zA-Z]+")
_IN_PLACE = re.compile(r"-[a-zA-Z]*i")
_PYTHON = re.compile(r"(?:python|pypy)[0-9.]*")
_PYTHON_OPTION = re.compile(r"-[^-cmWX]*([cmWX])(.*)", re.DOTALL)
"""An option of Python with a value, also at the end of a cluster. The value is attached, or the next word."""
_PYTHON_VALUED = "--check-hash-based-pycs"
_MOVES = re.compile(r"\+\+?(?:\d*[gGpP%]?|F|[/?][^\n]*)")
"""Commands of a pager that neither run nor write anything: go to a line, search, follow the file."""


def shell(scope: Scope, words: Sequence[Word]) -> None:
    """`sh`, `bash` and others: `-c` code, a script, or commands from standard input."""
    name = words[0].text
    reads_code, at = False, 1
    while at < len(words):
        word = words[at]
        if not word.known:
            scope.findings.add_unclear(f"what '{name}' runs is only known when it runs")
            return
        if not word.text.startswith(("-", "+")) or word.text in ("-", "--"):
            break
        reads_code = reads_code or (not word.text.startswith("--") and "c" in word.text[1:] and word.text[0] == "-")
        if word.text in ("--version", "--help"):
            return
        if (_CLUSTER.fullmatch(word.text) and "k" in word.text) or "keyword" in (w.text for w in words[at : at + 2]):
            scope.findings.add_unclear(f"'{name} -k' changes what words mean")
        if word.text in ("--rcfile", "--init-file") and at + 1 < len(words):
            analyse_script_word(scope, name, words[at + 1], scope.analyse_code)
            at += 1
        at += 1 if word.text.startswith("--") else 1 + word.text.count("o") + word.text.count("O")
    at += at < len(words) and words[at].text in ("-", "--")
    rest = words[at:]
    if reads_code:
        analyse_code_words(scope, name, rest[:1])
    elif rest and not any(_CLUSTER.fullmatch(word.text) and "s" in word.text for word in words[1:at]):
        analyse_script_word(scope, name, rest[0], scope.analyse_code)
    else:
        analyse_stdin(scope, name, functools.partial(scope.analyse_code, from_stdin=True))


def analyse_script_word(scope: Scope, name: str, word: Word, use: Callable[[str], None]) -> None:
    """Analyse a file of code, which may be standard input under another name."""
    descriptor = descriptor_of(word.text)
    if descriptor == "0":
        analyse_stdin(scope, name, use)
        return
    if descriptor is not None:
        scope.findings.add_unclear(f"'{name}' runs what it reads from '{word.text}'")
    paths = (*scope.note_script(word), *_in_path(scope, name, word))
    if word.known and program(name).runs_shell_code and scope.is_unreadable(word.text):
        scope.findings.add_unclear(f"the script '{word.text}' cannot be read before it runs")
    if not word.known:
        scope.findings.add_unclear(f"the script of '{name}' is only known when it runs")
    elif program(name).runs_shell_code:
        for path in paths:
            scope.analyse_script(path, here=not program(name).shell)


def _in_path(scope: Scope, name: str, word: Word) -> tuple[str, ...]:
    """Return the script that bash finds in `PATH` for a name without a directory."""
    if not program(name).runs_shell_code or not word.known or "/" in word.text:
        return ()
    if any(assigned.name == "PATH" for assigned in scope.findings.assignments):
        scope.findings.add_unclear(f"'PATH' is changed before '{name}' looks up '{word.text}'")
    file = scope.surroundings.sourced(word.text)
    if file is None:
        return ()
    scope.findings.scripts[file] = None
    return (file,)


def analyse_stdin(scope: Scope, name: str, use: Callable[[str], None]) -> None:
    """Analyse code that a program reads from its standard input."""
    stdin = scope.stdin
    if stdin is None:
        return
    if stdin.kind == "text":
        if not stdin.word.known:
            scope.findings.add_unclear(f"part of the code that '{name}' reads is only known when it runs")
        use(stdin.word.text)
    elif stdin.kind == "file" and stdin.word.known:
        for path in scope.note_script(stdin.word) if program(name).runs_shell_code else ():
            scope.analyse_script(path, here=not program(name).shell)
    else:
        scope.findings.add_unclear(f"'{name}' runs what it reads from a pipe")


def evaluate(scope: Scope, words: Sequence[Word]) -> None:
    """`eval`: its words, joined, are code."""
    if [word.text for word in words[1:2]] == ["--"]:
        words = words[1:]
    analyse_code_words(scope, "eval", words[1:], here=True)


def source(scope: Scope, words: Sequence[Word]) -> None:
    """`.` and `source`: a script that runs in this very shell."""
    for word in words[2:3] if words[1:2] and words[1].text == "--" else words[1:2]:
        analyse_script_word(scope, words[0].text, word, scope.analyse_code)


def trap(scope: Scope, words: Sequence[Word]) -> None:
    """`trap`: code for later."""
    given = words[2:] if next_word(words, 0).text == "--" else words[1:]
    if len(given) > 1 and given[0].text not in ("-", "", "-l", "-p"):
        analyse_code_words(scope, "trap", given[:1])


def alias(scope: Scope, words: Sequence[Word]) -> None:
    """`alias name=code`: code for later."""
    for word in words[1:]:
        _, equals, code = word.text.partition("=")
        if equals:
            analyse_code_words(scope, "alias", [word._replace(text=code)])


def foreign_shell(scope: Scope, words: Sequence[Word]) -> None:
    """A shell of another language: its code is searched as if it were bash's, and asked about."""
    name = words[0].text
    for at, word in enumerate(words[1:], 1):
        option, equals, value = word.text.partition("=")
        if _FOREIGN_CODE.fullmatch(option):
            rest = [word._replace(text=value)] if equals else words[at + 1 :]
            scope.analyse_code(" ".join(inner.text for inner in rest))
            scope.findings.add_unclear(f"'{name}' runs code that is not bash's")
            return
        if word.text.lower().startswith(("-enc", "-ec")) and name in ("pwsh", "powershell"):
            scope.findings.add_unclear(f"'{name}' runs code that is not readable")
        elif not word.text.startswith("-"):
            scope.note_script(word)
            return
    if scope.stdin is not None:
        scope.analyse_code(scope.stdin.word.text)
        scope.findings.add_unclear(f"'{name}' runs what it reads")


def interpret(scope: Scope, words: Sequence[Word], facts: Program) -> None:
    """Python, node, perl, ruby …: opaque code is searched, a script is noted, code from a pipe is asked about."""
    name = words[0].text
    if name in ("perl", "ruby") and any(_IN_PLACE.match(word.text) for word in words[1:]):
        scope.note_edits(words[1:])
    if code_words := list(_code_words(words, facts.code)):
        for word in words[1:]:
            _search_code(scope, name, word.text)
        if not all(code.known for code in code_words):
            scope.findings.add_unclear(f"part of the code that '{name}' runs is only known when it runs")
        return
    if any(word.text in facts.checks for word in words[1:]):
        return
    before = ""
    for at, word in enumerate(words[1:], 1):
        if word.text == "-m" and at + 1 < len(words) and not program(words[at + 1].text).ordinary:
            suspect(scope, words[at + 1 :])
        if word.text in ("-m", "-V", "-v", "--version", "--help", "-h"):
            return
        if (not word.text.startswith("-") or word.text == "-") and before not in ("-X", "-W", "-r", "-I", "--import"):
            if name not in ("deno", "bun"):
                analyse_script_word(scope, name, word, lambda code: _search_code(scope, name, code))
            suspect(scope, words[at:])
            return
        before = word.text
    analyse_stdin(scope, name, lambda code: _search_code(scope, name, code))


def split_module(words: Sequence[Word]) -> tuple[Sequence[Word], Sequence[Word]]:
    """Return Python's words with `-m` split off (`-mvenv`, `-Im venv`), and the module with its words."""
    at = 1
    while _PYTHON.fullmatch(words[0].text) and at < len(words) and words[at].text.startswith("-"):
        option = _PYTHON_OPTION.match(words[at].text)
        if option is None:
            at += 2 if words[at].text == _PYTHON_VALUED else 1
        elif option[1] == "m":
            attached = [words[at]._replace(text=option[2])] if option[2] else []
            rest = [*attached, *words[at + 1 :]]
            return [*words[:at], words[at]._replace(text="-m"), *rest], rest
        elif option[1] == "c":
            break
        else:
            at += 1 if option[2] else 2
    return words, ()


def _is_option(text: str, option: str) -> bool:
    """Whether a word is this option, also inside a cluster such as `-ne`, or with the code attached."""
    if option.startswith("--") or not option.startswith("-"):
        return text == option or text.startswith(f"{option}=")
    if not text.startswith("-") or text.startswith("--"):
        return False
    return option[1] in text[1:4] or (text[1:].isalnum() and text.endswith(option[1]))


def _code_words(words: Sequence[Word], options: Collection[str]) -> Iterator[Word]:
    """Yield the words that are code: after an option, or in one word with it."""
    for at, word in enumerate(words[1:], 1):
        for option in options:
            if _is_option(word.text, option):
                follows = word.text == option or (not option.startswith("--") and word.text.endswith(option[1:]))
                yield words[at + 1] if follows and at + 1 < len(words) else word


def _search_code(scope: Scope, name: str, code: str) -> None:
    match = _DESTROYS.search(code)
    if match:
        scope.findings.add_unclear(f"the code that '{name}' runs mentions '{match.group().strip()}'")


def statements(scope: Scope, words: Sequence[Word]) -> None:
    """`python -m timeit`: its words are code."""
    for word in words[1:]:
        _search_code(scope, words[0].text, word.text)


def sql(scope: Scope, words: Sequence[Word]) -> None:
    """Database clients: statements that remove data."""
    if scope.stdin is not None and scope.stdin.kind == "pipe":
        scope.findings.add_unclear(f"'{words[0].text}' runs what it reads from a pipe")
    statements = [*option_values(words, _STATEMENTS), *(operands(words)[1:2] if words[0].text in _FILE_CLIENTS else ())]
    if any(UNRESOLVED in statement.text for statement in statements):
        scope.findings.add_unclear(f"part of the statement that '{words[0].text}' runs is only known when it runs")
    texts = [word.text for word in words[1:]] + ([scope.stdin.word.text] if scope.stdin else [])
    for text in texts:
        if _SQL.search(text) and " " in text:
            scope.findings.add_danger("it removes data from a database")
        if _SQL_SHELL.search(text):
            scope.findings.add_unclear(f"'{words[0].text}' is told to run a program or to write a file")
        for code in _SQL_CODE.findall(text):
            scope.analyse_code(code)


def macros(scope: Scope, words: Sequence[Word]) -> None:
    """`m4` and `dc` have commands that run programs."""
    texts = [word.text for word in words[1:]] + ([scope.stdin.word.text] if scope.stdin else [])
    if any("syscmd" in text or "!" in text for text in texts) or (scope.stdin and scope.stdin.kind == "pipe"):
        scope.findings.add_unclear(f"'{words[0].text}' may be told to run programs")


def editor(scope: Scope, words: Sequence[Word]) -> None:
    """Editors: commands from options or from standard input may run anything and write anywhere."""
    told = any(_EDITOR_COMMANDS.fullmatch(word.text) for word in words[1:])
    if told or (scope.stdin is not None and words[0].text in ("ed", "ex", "vi", "vim", "nvim")):
        scope.findings.add_unclear(f"'{words[0].text}' is given commands, which may run programs or write files")


def pager(scope: Scope, words: Sequence[Word]) -> None:
    """`less` and `more`: a command after `+` may run a program or write a file."""
    if any(word.text.startswith(("+", "--cmd")) and not _MOVES.fullmatch(word.text) for word in words[1:]):
        scope.findings.add_unclear(f"'{words[0].text}' is given commands, which may run programs or write files")
