"""Files that commands cannot read unless a person allows it: secret files, and those that a rule denies."""

from __future__ import annotations

import asyncio
import fnmatch
import posixpath
import re
from collections.abc import Collection, Iterable, Iterator
from contextlib import suppress
from typing import TYPE_CHECKING

from toolgate.command.analysis.program import program
from toolgate.command.words import UNRESOLVED
from toolgate.errors import ToolError
from toolgate.sandbox.git.index import UnreadableIndexError, git_directory, index_reader, tracked
from toolgate.workspace.secret_files import secret_name
from toolgate.workspace.secret_scan import SecretsFound

if TYPE_CHECKING:
    from toolgate.command.analysis import CommandPlan
    from toolgate.protocol.plan import Access
    from toolgate.sandbox.layer import Layer
    from toolgate.sandbox.root_directory import RootDirectory
    from toolgate.workspace.file_guard import FileGuard

MAX_LOCKED = 256
"""Most files that are locked. Each of them is a mount."""
NOTHING = SecretsFound(secrets={}, denied=frozenset())
_TOKEN = re.compile(r"[^\s'\"<>|;&()=:,@`\[\]{}$]+")
_REDIRECT = re.compile(r"<\s*([^\s<>|;&()]+)")
_QUOTES = str.maketrans("", "", "'\"\\")
_LOOKS = frozenset({"ls", "stat", "file", "du"})
"""Programs that look at a file without showing its content."""
_MOVES = frozenset({"cd", "pushd", "popd", "find", "xargs", "make", "env"})
"""Programs after which a path may be meant from another directory."""
_QUIET_GIT = frozenset(
    "status check-ignore ls-files rm commit reset restore checkout switch tag branch merge rebase".split()
)
"""Commands of git that show no content of files. They see secret files that git tracks."""
_MAX_TEXT = 1 << 16
_NAME = r"(?<![^\s:'\"])([^\s:'\"]++)['\"]?"
"""A name in an error message. It is tried once for each word, as output may be one long word."""
_DENIED_NAME = re.compile(rf"{_NAME}: Permission denied")
_MISSING_NAME = re.compile(rf"{_NAME}: No such file|No such file or directory: '([^'\n]++)'")
_MAX_NAMES = 20


class Look:
    """What a call has found when it looked for locked files.

    It holds until the call waits for anything: until then, nothing else of this process has run.
    """

    def __init__(self, found: SecretsFound = NOTHING) -> None:
        self.found = found
        self.holds = True
        """Whether the call that looked has not waited since. What it waited for may have made a secret file."""
        asyncio.get_running_loop().call_soon(self._end)  # before the call can continue

    def _end(self) -> None:
        self.holds = False


class LockedFiles:
    """The locked files of one session. It never looks for them itself."""

    def __init__(self, guard: FileGuard | None) -> None:
        self._guard = guard
        self._found = NOTHING

    def note(self, found: SecretsFound) -> None:
        """Remember what was found last."""
        self._found = found

    def paths(self) -> tuple[str, ...]:
        """Paths relative to the root that commands may not read, denied ones first."""
        found = self._found
        return tuple(dict.fromkeys((*sorted(found.denied), *sorted(found.secrets))))[:MAX_LOCKED]

    def may_unlock(self, paths: Iterable[str]) -> frozenset[str]:
        """Those of the paths that a person can allow: a rule that denies is never lifted."""
        return frozenset(path for path in paths if path not in self._found.denied)

    def recorded(self, root: RootDirectory) -> frozenset[str]:
        """The locked files that git tracks: any command can read them in the repository."""
        found = self._found
        paths = {*found.denied, *found.secrets}
        if not paths:
            return frozenset()
        try:
            return tracked(index_reader(root, git_directory(root)), paths)
        except (UnreadableIndexError, OSError):
            return frozenset(found.denied)

    def missing(self, layer: Layer, access: Access, root: RootDirectory) -> tuple[str, ...]:
        """Return which locked files the sandbox cannot protect, and why, in plain words."""
        found = self._found
        count = len(found.denied) + len(found.secrets)
        if not count:
            incomplete = not found.complete and self._guard is not None and self._guard.denies
            return ("the project is too large to find every file that a rule denies",) if incomplete else ()
        if not layer.mounts and (access != "read" or layer.name == "off"):
            return (f"secret files and files that a rule denies can be read ({count})",)
        lines = []
        if count > MAX_LOCKED:
            lines.append(f"only {MAX_LOCKED} of {count} secret or denied files are hidden")
        if found.denied and not found.complete:
            lines.append("the project is too large to find every file that a rule denies")
        if committed := sorted(found.denied & self.recorded(root)):
            lines.append(
                f"git has recorded files that a rule denies, and commands can read its records: {committed[0]}"
            )
        return tuple(lines)

    def hint(self, text: str, directory: str) -> str:
        """A next step for a command that failed on a locked file; empty if none is named in its error messages.

        Relative names are from `directory`.
        """
        found = self._found
        if self._guard is None or not (found.denied or found.secrets):
            return ""
        if found.denied and (hidden := self._hidden_in(text, directory)):
            return hidden
        if re.search(r"[Pp]ermission denied|EACCES|Errno 13|Operation not permitted", text) is None:
            return ""
        real = self._guard.real_paths(_DENIED_NAME.findall(text)[:_MAX_NAMES])
        for path in (*found.denied, *found.secrets):
            if posixpath.basename(path) not in text and path not in real:
                continue
            template = self._guard.template_hint(path)
            if path in found.denied:
                rule = ""
                with suppress(ToolError, OSError):
                    rule = self._guard.denied_by(path) or ""
                return _denial(path, rule, template)
            return (
                f"'{path}' may hold secrets and is hidden from commands that do not name it{template}. "
                "To use it, name it in the command: the user is asked."
            )
        return ""

    def _hidden_in(self, text: str, directory: str) -> str:
        """A next step for a command that did not find what lies below a denied directory, which is empty for it."""
        assert self._guard is not None
        for names in _MISSING_NAME.findall(text)[:_MAX_NAMES]:
            path = posixpath.normpath(posixpath.join(directory, *names))
            with suppress(ToolError, OSError):
                if (rule := self._guard.denied_by(path)) is not None:
                    return _denial("".join(names), rule)
        return ""

    def named(self, command: str, analysed: CommandPlan, cwd: str) -> tuple[str, ...]:
        """The secret files that a command names, so that a person is asked. Without that it cannot read them."""
        if self._guard is None or len(command) > _MAX_TEXT:
            return ()
        secrets = [path for path in self._found.secrets if path not in self._found.denied]
        in_history = any(
            words[:1] == ("git",) and words[1:2] and words[1] not in _QUIET_GIT for words in analysed.commands
        )
        if not secrets and not in_history:
            return ()
        words = list(_words(command, analysed))
        moves = any(words[0] in _MOVES or words[0].startswith(UNRESOLVED) for words in analysed.commands)
        found = {
            path for word in words for path in _secrets_named_by(word, secrets, self._found.shown, cwd, moves=moves)
        }
        if in_history:
            found.update(_in_history(words, cwd))
        return tuple(sorted(found))


def _denial(path: str, rule: str, template: str = "") -> str:
    """What a command is told about a path that a rule denies."""
    which = f" (rule: {rule})" if rule else ""
    return f"The user's policy denies '{path}' to commands{which}{template}. Do without it, or ask the user."


def _words(command: str, analysed: CommandPlan) -> Iterator[str]:
    """Every word that may be a file which the command reads or writes."""
    texts = [match.group(1) for match in _REDIRECT.finditer(command)]
    for words in analysed.commands:
        if words[0] in _LOOKS or (words[0] == "git" and words[1:2] and words[1] in _QUIET_GIT):
            continue
        if words[0] == "=" or not program(words[0]).no_paths:
            texts.extend(words[1:])
    if any(words[0].startswith(UNRESOLVED) for words in analysed.commands):
        texts.append(command)
    for text in texts:
        yield from _TOKEN.findall(text.translate(_QUOTES))
        if "[" in text or "{" in text:
            yield text


def _secrets_named_by(
    word: str, secrets: Collection[str], shown: Collection[str], cwd: str, *, moves: bool
) -> Iterator[str]:
    """Yield the secret files that a word may name: by this path, below another directory, or by a pattern."""
    base = posixpath.basename(word.rstrip("/"))
    if not base:
        return
    if any(character in base for character in "*?[{"):
        for path in secrets:
            name = posixpath.basename(path)
            if fnmatch.fnmatchcase(name, _glob(base)) and (base[0] == "." or name[0] != "."):
                yield path
        return
    resolved = posixpath.normpath(posixpath.join(cwd, word))
    if resolved in secrets:
        yield resolved
    if not moves and (resolved in secrets or resolved in shown):
        return
    if word.startswith("/"):
        yield from (path for path in secrets if resolved.endswith(f"/{path}"))
        return
    tail = posixpath.normpath(word).replace("../", "")
    yield from (path for path in secrets if f"/{path}".endswith(f"/{tail}"))


def _glob(base: str) -> str:
    """Return a pattern that matches at least what bash's would. Braces match any text."""
    return re.sub(r"\{[^}]*\}?", "*", base)


def _in_history(words: Iterable[str], cwd: str) -> Iterator[str]:
    """Secret files that git may have recorded, whether or not they exist now."""
    for word in words:
        path = posixpath.normpath(posixpath.join(cwd, word))
        if secret_name(path) and not path.startswith(("..", "/")):
            yield path
