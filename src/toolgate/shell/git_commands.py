"""Recognises command lines that run only git. They may write the repository, because no other code runs."""

from __future__ import annotations

import posixpath
import re
from collections.abc import Callable, Mapping

from toolgate.command.syntax import Compound, Grammar, Lexeme, Part, Redirect, Sequence, Simple, UnparsableError
from toolgate.sandbox.git.git_list import GitList
from toolgate.sandbox.root_directory import Kind
from toolgate.shell.state import SENSITIVE, ShellState

_WRITES = frozenset(
    "add am apply bisect branch checkout checkout-index cherry-pick clean commit commit-graph commit-tree gc"
    " hash-object merge merge-tree mktree multi-pack-index mv notes pack-refs prune read-tree rebase reflog repack"
    " replace rerere reset restore revert rm stage stash switch symbolic-ref tag update-index update-ref"
    " write-tree".split()
)
_READS = frozenset(
    "blame cat-file check-attr check-ignore cherry count-objects describe diff diff-files diff-index diff-tree"
    " for-each-ref fsck grep log ls-files ls-tree merge-base name-rev range-diff rev-list rev-parse shortlog show"
    " show-branch show-ref status var version worktree".split()
)
_RECORDS = frozenset(
    "add stage commit rm mv restore reset switch checkout branch tag merge rebase cherry-pick revert status".split()
)
"""Commands that show no content of files."""
_RUNS = {
    "rebase": re.compile(r"--ex.*|-[a-zA-Z]*x.*"),
    "grep": re.compile(r"--op.*|-[a-zA-Z]*O.*"),
    "bisect": re.compile(r"run|vi.*"),
    "worktree": re.compile(r"(?!list$).*"),
}
"""Arguments with which git runs a program that the command line names, or writes where it must not."""
_GLOBALS = frozenset({"--no-pager", "-P", "-p", "--paginate", "--no-optional-locks", "--literal-pathspecs"})
_SETTINGS = re.compile(
    r"(?:user|author|committer)\.(?:name|email)=.*|(?:commit|tag)\.gpgsign=false|init\.defaultbranch=.*|color\.ui=.*"
    r"|advice\.[a-z]+=.*|core\.(?:quotepath|abbrev|autocrlf)=.*|merge\.(?:ff|conflictstyle|renames)=.*"
    r"|safe\.directory=.*",
    re.IGNORECASE,
)
_IDENTITY = re.compile(r"GIT_(?:AUTHOR|COMMITTER)_(?:NAME|EMAIL|DATE)|EMAIL|TZ|LANG|LC_[A-Z]+")
_OTHERS = frozenset("cd echo printf true : pwd cat head tail wc grep ls".split())
"""Builtins and system programs that run no other program and contain no repository configuration."""
_VALUED = frozenset(
    {"-m", "--message", "-F", "--author", "--date", "--trailer", "-am", "-qm", "-aqm", "-qam", "-sm", "-asm"}
)
_FILES = frozenset({"", "<", ">", ">>", ">|", "<<", "<<-", "<<<", "&>", "&>>"})
_VARIABLE = re.compile(r"[A-Za-z_][A-Za-z0-9_]*")
_PATTERN = re.compile(r"[*?\[{~]")
_MAX_TEXT = 1 << 16
_MAX_READ = 1 << 12
"""Characters of a command line of which it is found out whether it only reads."""


class _NoJobs(Grammar):
    """The grammar without `&`: a background process would outlive the git command."""

    def separator(self) -> bool:
        self.blank()
        if self.text.startswith("&", self.at) and not self.text.startswith("&&", self.at):
            raise UnparsableError("it starts a job")
        return super().separator()


class _OtherCodeError(Exception):
    """Something other than git may run."""


def git_list(command: str, state: ShellState, root: str, kind: Callable[[str], Kind]) -> GitList | None:
    """Return the git commands of a command line that runs nothing else, if one of them writes the root's repository.

    `kind` returns what a path, relative to the root, is.
    """
    if "git" not in command or len(command) > _MAX_TEXT or _redefines(state):
        return None
    try:
        reader = _Reader(state, root, kind)
        reader.sequence(_NoJobs(command, 0).program())
    except (UnparsableError, _OtherCodeError):
        return None
    if not reader.verbs & _WRITES:
        return None
    return GitList(frozenset(reader.verbs), records=reader.verbs <= _RECORDS and not reader.shows)


def only_reads(command: str, state: ShellState, first: Mapping[bytes, bytes]) -> bool:
    """Whether a command line certainly changes no file: it consists of builtins and programs that only print.

    `first` is the session's first environment. A variable that changes which programs run counts as a change.
    """
    if len(command) > _MAX_READ or _redefines(state) or _has_changed_programs(state.environment, first):
        return False
    try:
        code = _NoJobs(command, 0).program()
    except UnparsableError:
        return False
    pipelines = [pipeline for statement in code.statements for pipeline in statement.pipelines]
    return all(_only_prints(part) for pipeline in pipelines for part in pipeline.commands)


def _has_changed_programs(now: Mapping[bytes, bytes], first: Mapping[bytes, bytes]) -> bool:
    """Whether a variable that changes which programs run has another value than at first."""
    changed = [name for name in {*now, *first} if now.get(name) != first.get(name)]
    return any(SENSITIVE.fullmatch(name.decode(errors="replace")) for name in changed)


def _only_prints(command: Simple | Compound) -> bool:
    if not isinstance(command, Simple) or command.assigns or not command.words or command.words[0].raw not in _OTHERS:
        return False
    if any(redirect.operator not in ("", "<<", "<<-", "<<<", "<") for redirect in command.redirects):
        return False
    lexemes = [*command.words, *(redirect.target for redirect in command.redirects)]
    heredocs = [redirect.heredoc for redirect in command.redirects if redirect.heredoc is not None]
    parts = [part for lexeme in lexemes for part in lexeme.parts or ()]
    parts += [part for heredoc in heredocs for part in heredoc.parts]
    return all(part.kind in ("bare", "quoted", "variable") for part in parts)


def _redefines(state: ShellState) -> bool:
    """Whether the shell's state gives one of these commands another meaning, or ends or reads lines differently."""
    names = state.function_names | {name.decode(errors="replace") for name in state.aliases}
    if names & (_OTHERS | {"git"}):
        return True
    return state.options.get(b"errexit", False) or state.options.get(b"noglob", False)


class _Reader:
    def __init__(self, state: ShellState, root: str, kind: Callable[[str], Kind]) -> None:
        self.verbs: set[str] = set()
        self.shows = False
        """Whether a program that shows files is among them, or an option with which git shows changes."""
        self._root, self._kind = root, kind
        self._directory = state.directory.decode("utf-8", "surrogateescape")
        self._check_directory()

    def sequence(self, code: Sequence) -> None:
        for statement in code.statements:
            for pipeline in statement.pipelines:
                for command in pipeline.commands:
                    self._command(command, alone=len(pipeline.commands) == 1)

    def _command(self, command: Simple | Compound, alone: bool) -> None:
        if not isinstance(command, Simple) or command.declared or not command.words:
            raise _OtherCodeError
        for assign in command.assigns:
            if not _IDENTITY.fullmatch(assign.name) or not assign.known:
                raise _OtherCodeError
            self._text(assign.value[0])
        for redirect in command.redirects:
            self._redirect(redirect)
        name = self._known(command.words[0])
        if name == "git":
            self._git(command.words[1:])
        elif name not in _OTHERS or command.assigns:
            raise _OtherCodeError
        elif name in ("cat", "head", "tail", "grep", "wc"):
            self.shows = True
        elif name == "cd":
            self._enter(command.words[1:], alone)
        elif any(self._text(word).startswith("-v") for word in command.words[1:] if name == "printf"):
            raise _OtherCodeError  # it sets a variable

    def _redirect(self, redirect: Redirect) -> None:
        if redirect.operator not in _FILES:
            raise _OtherCodeError
        if redirect.heredoc is not None:
            self._parts(redirect.heredoc.parts)
        elif redirect.operator and not self._may_open(self._known(redirect.target)):
            raise _OtherCodeError

    def _may_open(self, target: str) -> bool:
        """Whether a file belongs to the project and no link leads to it. A link could lead into a repository."""
        if target == "/dev/null":
            return True
        relative = posixpath.relpath(posixpath.join(self._directory, target), self._root)
        inside = not relative.startswith("..") and ".git" not in relative.lower()
        return inside and self._kind(relative) in ("file", "absent")

    def _enter(self, words: list[Lexeme], alone: bool) -> None:
        if len(words) != 1 or not alone:
            raise _OtherCodeError
        target = self._known(words[0])
        if target in ("", "-") or target.startswith("-"):
            raise _OtherCodeError
        self._directory = posixpath.normpath(posixpath.join(self._directory, target))
        self._check_directory()

    def _check_directory(self, directory: str = "") -> None:
        """Refuse unless the git directory that git would find is the one that it is given."""
        relative = posixpath.relpath(directory or self._directory, self._root)
        parts = () if relative == "." else relative.split("/")
        if parts[:1] == [".."] or any(self._is_nested("/".join(parts[: depth + 1])) for depth in range(len(parts))):
            raise _OtherCodeError

    def _is_nested(self, directory: str) -> bool:
        """Whether a directory is a repository, or a link that may lead to one."""
        if self._kind(directory) not in ("directory", "absent") or self._kind(f"{directory}/.git") != "absent":
            return True
        return self._kind(f"{directory}/HEAD") != "absent" and self._kind(f"{directory}/objects") != "absent"

    def _git(self, words: list[Lexeme]) -> None:
        at = 0
        while at < len(words) and words[at].raw.startswith("-"):
            option = self._known(words[at])
            at += 1
            if option in _GLOBALS:
                continue
            value = self._known(words[at]) if at < len(words) else ""
            at += 1
            if option == "-C":
                self._check_directory(posixpath.normpath(posixpath.join(self._directory, value)))
            elif option != "-c" or not _SETTINGS.fullmatch(value):
                raise _OtherCodeError
        if at == len(words):
            raise _OtherCodeError
        verb = self._known(words[at])
        if verb not in _WRITES and verb not in _READS:
            raise _OtherCodeError
        self.verbs.add(verb)
        self._arguments(verb, words[at + 1 :])

    def _arguments(self, verb: str, words: list[Lexeme]) -> None:
        runs = _RUNS.get(verb)
        only_paths, before = False, ""
        for word in words:
            text = self._text(word)
            self.shows = self.shows or text.startswith(("-p", "-v", "--patch", "--verbose"))
            if not only_paths and before not in _VALUED:
                uncertain = text.startswith("\0") or (_starts_with_pattern(word) and verb not in _LISTS_PATHS)
                if uncertain or (runs is not None and runs.fullmatch(text)):
                    raise _OtherCodeError
            only_paths, before = only_paths or text == "--", text

    def _known(self, word: Lexeme) -> str:
        """Return the text of a word that does not depend on the shell's state."""
        parts = (Part("bare", word.raw),) if word.parts is None else word.parts
        if any(part.kind not in ("bare", "quoted") for part in parts) or any(
            _PATTERN.search(part.text) for part in parts if part.kind == "bare"
        ):
            raise _OtherCodeError
        return "".join(part.text for part in parts)

    def _text(self, word: Lexeme) -> str:
        """Return the text of a word, with NUL for the value of a variable. Other expansions are refused."""
        if word.parts is None:
            return word.raw
        return self._parts(word.parts)

    def _parts(self, parts: tuple[Part, ...]) -> str:
        text = ""
        for part in parts:
            if part.kind in ("bare", "quoted"):
                text += part.text
            elif _is_value(part):
                text += "\0"
            else:
                raise _OtherCodeError
        return text


_LISTS_PATHS = frozenset({"add", "stage", "rm", "mv", "restore", "ls-files", "diff", "status"})


def _starts_with_pattern(word: Lexeme) -> bool:
    """Whether a word may expand to file names, one of which may look like an option."""
    parts = (Part("bare", word.raw),) if word.parts is None else word.parts
    return bool(parts) and parts[0].kind == "bare" and _PATTERN.match(parts[0].text) is not None


def _is_value(part: Part) -> bool:
    """Whether a part is an ordinary variable, or a text that a here-document holds."""
    if part.kind == "variable":
        return _VARIABLE.fullmatch(part.text) is not None and not part.text.startswith(("GIT_", "BASH"))
    return part.kind == "run" and part.code is not None and not part.feeds and _is_heredoc(part.code)


def _is_heredoc(code: Sequence) -> bool:
    """`$(cat <<'EOF' …)`: the common way to write a text of several lines."""
    if len(code.statements) != 1 or len(code.statements[0].pipelines) != 1:
        return False
    commands = code.statements[0].pipelines[0].commands
    if len(commands) != 1 or not isinstance(commands[0], Simple):
        return False
    simple = commands[0]
    plain = [word.raw for word in simple.words] == ["cat"] and not simple.assigns
    return (
        plain
        and len(simple.redirects) == 1
        and simple.redirects[0].heredoc is not None
        and not simple.redirects[0].heredoc.parts
    )
