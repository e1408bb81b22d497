"""`FileGuard`: which files a session may show only with a person's consent, and which ones not at all."""

from __future__ import annotations

import os
import stat
from collections.abc import Callable, Sequence
from contextlib import suppress
from dataclasses import dataclass, replace
from functools import cached_property
from typing import TYPE_CHECKING

from toolgate.errors import ToolError
from toolgate.protocol.codes import ErrorCode
from toolgate.workspace.oserrors import quote
from toolgate.workspace.own_names import OWN_FILE
from toolgate.workspace.secret_files import SNIFFED, secret_content, secret_name, templates_of
from toolgate.workspace.secret_scan import PathPattern, SecretScan, SecretsFound

if TYPE_CHECKING:
    from toolgate.workspace.extra_directories import ExtraGuard
    from toolgate.workspace.root import Workspace


@dataclass(frozen=True, slots=True, kw_only=True)
class PathRules:
    """What the user's rules say about reading paths."""

    denied: tuple[PathPattern, ...] = ()
    """No tool and no command may read them."""
    shown: tuple[PathPattern, ...] = ()
    """They may be read without asking, although they may hold secrets."""


NO_RULES = PathRules()
SECRET = "secret"
"""Why a search leaves a file out."""
_ANOTHER_NAME = "it is another name of a file that a rule denies"
"""Why a hard link of such a file is denied, and one that has been moved."""
_MAX_FOLDERS = 1_500
"""Folders that are looked at without a thread: one takes 2 to 3 microseconds, in a thread twice as long and more."""


@dataclass(frozen=True, slots=True, kw_only=True)
class GuardedFile:
    """A file that is not simply shown."""

    path: str
    """Relative to the root."""
    denied: bool
    """Whether a rule denies it; otherwise a person may allow it."""
    reason: str
    """What it may hold, or the rule that denies it."""


class FileGuard:
    """Judges paths of one workspace. `rules` returns the rules as they are now.

    With `single_use` it judges one path only: then no denied file has been moved since it judged another.
    """

    def __init__(
        self, workspace: Workspace, rules: Callable[[], PathRules] = lambda: NO_RULES, *, single_use: bool = False
    ) -> None:
        self._workspace = workspace
        self._given = rules
        self._single_use = single_use

    def _rules(self) -> PathRules:
        """The rules as they are now. The runtime's own files are denied like files that a rule denies."""
        rules, own = self._given(), self._workspace.own_files.names
        return replace(rules, denied=(*rules.denied, *own)) if own else rules

    @cached_property
    def _scan(self) -> SecretScan:
        return SecretScan(self._workspace)

    @cached_property
    def extra(self) -> tuple[ExtraGuard, ...]:
        """The guards of the further directories."""
        if not self._workspace.extra:
            return ()
        from toolgate.workspace.extra_directories import ExtraGuard

        return tuple(ExtraGuard(directory, self._rules) for directory in self._workspace.extra)

    def found(self) -> SecretsFound:
        """All secret and denied files, those of further directories by absolute paths. Files that a rule shows are not
        among them."""
        rules = self._rules()
        found = self._scan.find(rules.denied, self._workspace.own_files.linked())
        if rules.shown:
            shown = frozenset(path for path in found.secrets if _fits(rules.shown, path))
            secrets = {path: reason for path, reason in found.secrets.items() if path not in shown}
            found = replace(found, secrets=secrets, shown=shown)
        for guard in self.extra:
            found = found.joined(guard.found())
        return found

    @property
    def is_quick(self) -> bool:
        """Whether looking through the project again takes at most a few milliseconds."""
        return 0 < self._scan.folders <= _MAX_FOLDERS

    @property
    def denies(self) -> bool:
        """Whether any rule denies reading a path."""
        return bool(self._rules().denied)

    def is_denied(self, path: str) -> bool:
        """Whether a rule denies a path by one of its names. Links are followed."""
        return self.denied_by(path) is not None

    def denied_by(self, path: str) -> str | None:
        """The rule that denies a path by one of its names; None if there is none. Links are followed."""
        return self._denied_by(path, None)

    def _denied_by(self, path: str, names: Sequence[str] | None) -> str | None:
        if not (rules := self._rules()).denied and not self._workspace.own_files.paths:
            return None
        names = self._names(path) if names is None else names
        rule = _rule_for(rules.denied, names)
        return self._denied_file(rules, names, self._workspace.stat(path)) if rule is None else rule

    def _denied_file(self, rules: PathRules, names: Sequence[str], info: os.stat_result | None) -> str | None:
        """The rule that denies a file for what it is, whatever its names are; None if there is none."""
        if info is None or not stat.S_ISREG(info.st_mode):
            return None
        if info.st_nlink > 1 and (info.st_dev, info.st_ino) in self._workspace.own_files.linked():
            return OWN_FILE
        may_have_moved = bool(self._given().denied) and not self._single_use  # own files are not moved
        if not rules.denied or not (info.st_nlink > 1 or may_have_moved):
            return None
        return None if self.found().denied.isdisjoint(names) else _ANOTHER_NAME

    def listed(self, paths: Sequence[str], start: str) -> list[str]:
        """Those of the paths (in normal form) that no rule denies: a list of names leaves out the others.

        `start` is the directory that they lie below, as it was typed. A link may lead to it.
        """
        denied = self._rules().denied
        if not denied:
            return list(paths)
        names = self._names(start)
        found = [path for path in paths if not _fits(denied, path)]
        if len(names) == 1:
            return found
        typed, real = ("" if name == "." else f"{name}/" for name in names)
        return [path for path in found if not _fits(denied, real + path[len(typed) :])]

    def judge(self, path: str) -> GuardedFile | None:
        """Why a file is not simply shown; None if it may be, or if there is no such file."""
        return self._judge(path, self._names(path))

    def _judge(self, path: str, names: list[str]) -> GuardedFile | None:
        rules = self._rules()
        rule = OWN_FILE if any(map(_is_in_journal, names)) else _rule_for(rules.denied, names)
        info = self._workspace.stat(path) if rule is None else None
        if rule is None:
            rule = self._denied_file(rules, names, info)
        if rule is not None:
            return GuardedFile(path=names[-1], denied=True, reason=rule)
        if rules.shown and all(_fits(rules.shown, name) for name in names):
            return None
        if info is None or not stat.S_ISREG(info.st_mode):
            return None
        reason = next(filter(None, map(secret_name, names)), "") or self._content(path)
        if not reason and info.st_nlink > 1:
            reason = self._reason_of_link(info)
        return GuardedFile(path=names[-1], denied=False, reason=reason) if reason else None

    def _reason_of_link(self, info: os.stat_result) -> str:
        """What a file holds that is another name of a secret file; empty if it is of none."""
        for path, reason in self.found().secrets.items():
            with suppress(ToolError):
                other = self._workspace.stat(path)
                if other is not None and os.path.samestat(other, info):
                    return reason
        return ""

    def leaves_out(self, path: str, start: bytes) -> bool:
        """Whether a search of a tree leaves out a file (in normal form, no link) that begins with these bytes."""
        rules = self._rules()
        if _fits(rules.denied, path) or _is_in_journal(path):
            return True
        if _fits(rules.shown, path):
            return False
        return bool(secret_name(path) or secret_content(start))

    def require(self, path: str, info: os.stat_result, allowed: Sequence[str] = ()) -> None:
        """Raise `ToolError` unless what was read at `path` may be shown. `info` is the status of the file read.

        This is asked after reading: a path may have been exchanged since it was judged.
        """
        real = self._names(path)[-1]
        for name in dict.fromkeys((path, real)):
            guarded = self.judge(name)
            if guarded is not None and (guarded.denied or guarded.path not in allowed):
                raise self.refusal(guarded)
        now = self._entry(real)
        if now is None or (now.st_dev, now.st_ino) != (info.st_dev, info.st_ino):
            raise ToolError(
                ErrorCode.CONFLICT, f"{quote(path)} was replaced while it was read.", "Make the call again."
            )

    def refusal(self, guarded: GuardedFile) -> ToolError:
        """The failure of a call that would show a guarded file without being allowed to."""
        path = quote(guarded.path)
        if guarded.denied and (_is_in_journal(guarded.path) or self._workspace.is_own_file(guarded.path)):
            return ToolError(
                ErrorCode.ACCESS_DENIED,
                f"{path} is one of the runtime's own files, which no tool and no command reads.",
                "Do without it, or ask the user.",
            )
        if guarded.denied:
            return ToolError(
                ErrorCode.ACCESS_DENIED,
                f"The user's policy denies {path} to every tool and command"
                f"{f' (rule: {guarded.reason})' if guarded.reason else ''}.",
                f"Do without it{self.template_hint(guarded.path)}, or ask the user.",
            )
        return ToolError(
            ErrorCode.ACCESS_DENIED,
            f"{path} may hold {guarded.reason}, and the user was not asked about it.",
            f"Read it with 'read_file' first: the user is asked{self.template_hint(guarded.path)}.",
        )

    def template_hint(self, path: str) -> str:
        """A clause that names a template of a secret file; empty if there is none."""
        for name in templates_of(path):
            if self._workspace.is_file(name):
                return f" ({quote(name)} shows what belongs in it)"
        return ""

    def require_known(self, path: str, seen: Callable[[tuple[str, ...]], bool]) -> None:
        """Raise `ToolError` if a call would show parts of a secret file that the session has not read with consent."""
        names = self._names(path)
        if seen(tuple(names[-1].split("/"))) and self._denied_by(path, names) is None:
            return
        guarded = self._judge(path, names)
        if guarded is not None:
            raise self.refusal(guarded)

    def real_paths(self, paths: Sequence[str]) -> set[str]:
        """Where these paths lead, as far as they are paths of the project."""
        found: set[str] = set()
        for path in paths:
            with suppress(ToolError):
                found.add(self._names(path)[-1])
        return found

    def _names(self, path: str) -> list[str]:
        """The path as it was typed, in normal form, and with links resolved."""
        typed = self._workspace.relative(path)
        real = "/".join(self._workspace.locate(path).parts) or "."
        return [typed] if typed == real else [typed, real]

    def _entry(self, real: str) -> os.stat_result | None:
        """The status of what is at a path itself, even if that is a link now."""
        parts = real.split("/")
        try:
            with self._workspace.directory(tuple(parts[:-1])) as fd:
                return os.stat(parts[-1], dir_fd=fd, follow_symlinks=False)
        except OSError:
            return None

    def _content(self, path: str) -> str:
        try:
            with self._workspace.open_file(path) as file:
                return secret_content(os.pread(file.fd, SNIFFED, 0))
        except (ToolError, OSError):  # reading it will say why
            return ""


def _is_in_journal(path: str) -> bool:
    """Whether it is what files held before they were written, secret ones and others, in this project or one in it."""
    return "/.toolgate/journal/" in f"/{path}/".casefold()


def _rule_for(patterns: Sequence[PathPattern], names: Sequence[str]) -> str | None:
    """The rule of the first pattern that one of these names fits; None if there is none."""
    return next((pattern.rule for pattern in patterns if any(map(pattern.matches, names))), None)


def _fits(patterns: Sequence[PathPattern], path: str) -> bool:
    return any(pattern.matches(path) for pattern in patterns)
