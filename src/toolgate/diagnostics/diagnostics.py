"""`Diagnostics`: runs checkers on files of one session, in a sandbox of its own with `read` access."""

from __future__ import annotations

import os
import time
from collections import OrderedDict
from collections.abc import Sequence
from dataclasses import dataclass, field, replace
from typing import TYPE_CHECKING

from toolgate.diagnostics.checkers import CheckCommand, checks_for
from toolgate.diagnostics.problems import Problem, new_problems
from toolgate.errors import ToolError
from toolgate.protocol.codes import ErrorCode
from toolgate.shell import ShellSession

if TYPE_CHECKING:
    from toolgate.settings import Settings
    from toolgate.workspace import Workspace
    from toolgate.workspace.file_guard import FileGuard

MAX_FILES = 20
"""Files of one call that are checked."""
_MAX_KEPT = 256
_NOT_RUN = (126, 127)
"""Exit codes of a shell that could not run the program."""
_MAX_REASON = 200
_MAX_FILE_BYTES = 4 << 20
"""Bytes of a file in which lines are looked up."""


@dataclass(slots=True)
class DiagnosticsReport:
    """What checkers said about the files of one call."""

    problems: dict[str, list[Problem]] = field(default_factory=dict)
    """By path."""
    notes: list[str] = field(default_factory=list)
    """Checkers that could not be used, and why."""


class Diagnostics:
    """The checkers of one session. It MUST be closed."""

    def __init__(self, workspace: Workspace, settings: Settings, guard: FileGuard) -> None:
        self._workspace = workspace
        self._settings = settings
        self._guard = guard
        self._shell: ShellSession | None = None
        self._kept: OrderedDict[tuple[str, str, str], list[Problem]] = OrderedDict()
        """Results by command, path and state of the file. The state after one edit is the state before the next one."""

    async def check(self, paths: Sequence[str]) -> DiagnosticsReport:
        """What the checkers say about files (relative to the root) as they are now. A file that is absent has none."""
        report = DiagnosticsReport()
        deadline = time.monotonic() + self._settings.diagnostics.timeout
        for path in paths[:MAX_FILES]:
            if not self._workspace.is_file(path) or self._guard.judge(path) is not None:
                continue
            found: list[Problem] = []
            for check in self._checks(path):
                found += await self._run(check, path, deadline, report)
            report.problems[path] = found
        return report

    async def compare(self, paths: Sequence[str], before: DiagnosticsReport) -> DiagnosticsReport:
        """Check the files again, and keep only what is new."""
        after = await self.check(paths)
        failed = [note for note in before.notes if note not in after.notes]
        if failed:  # without the problems before the edit, it is unknown which ones are new
            return DiagnosticsReport(notes=failed)
        problems = {path: new_problems(before.problems.get(path, ()), found) for path, found in after.problems.items()}
        return DiagnosticsReport({path: found for path, found in problems.items() if found}, after.notes)

    async def aclose(self) -> None:
        """End the sandbox."""
        shell, self._shell = self._shell, None
        if shell is not None:
            await shell.close()

    def _checks(self, path: str) -> list[CheckCommand]:
        settings = self._settings
        writable = (str(self._workspace.root), *map(os.path.realpath, settings.shell.roots))
        chosen, own = settings.diagnostics.checkers, settings.diagnostics.command
        return list(checks_for(path, chosen=chosen, own=own, writable=writable))

    async def _run(self, check: CheckCommand, path: str, deadline: float, report: DiagnosticsReport) -> list[Problem]:
        key = check.command, path, self._workspace.state(path)
        if key in self._kept:
            return self._kept[key]
        left = deadline - time.monotonic()
        if left <= 0:
            report.notes.append(f"{check.checker} was not run: the checkers took too long.")
            return []
        try:
            output = await self._output(check, left)
        except ToolError as error:
            report.notes.append(f"{check.checker} could not be run: {error.message}")
            return []
        if output is None:
            report.notes.append(f"{check.checker} did not end within {self._settings.diagnostics.timeout:g} seconds.")
            return []
        found = self._kept[key] = self._with_source(check.read(check.checker, output, path), path)
        while len(self._kept) > _MAX_KEPT:
            self._kept.popitem(last=False)
        return found

    def _with_source(self, problems: list[Problem], path: str) -> list[Problem]:
        """The same problems with the text of their lines."""
        if not problems:
            return []
        with self._workspace.open_file(path) as file:
            lines = file.read(_MAX_FILE_BYTES, 0).decode(errors="replace").splitlines()
        return [
            replace(problem, source=lines[problem.line - 1].strip()) if 0 < problem.line <= len(lines) else problem
            for problem in problems
        ]

    async def _output(self, check: CheckCommand, seconds: float) -> str | None:
        """What a checker prints; None if it was ended at the deadline."""
        if self._shell is None:
            self._shell = ShellSession(self._workspace, settings=self._settings, guard=self._guard)
        shell = self._shell
        await shell.choose_layer()
        if shell.sandbox("read").unconfined:
            raise ToolError(ErrorCode.EXECUTION_ERROR, "the sandbox does not confine it.", "")
        await shell.restart()
        result = await shell.execute(check.command, timeout=seconds, access="read")
        if result.exit_code in _NOT_RUN:
            lines = result.stderr.strip().splitlines() or ["it does not exist"]
            raise ToolError(ErrorCode.EXECUTION_ERROR, f"{lines[0][:_MAX_REASON].rstrip('.')}.", "")
        return None if result.timed_out else f"{result.stdout}\n{result.stderr}"
