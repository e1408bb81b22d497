"""`Evaluation`: runs tasks, several at the same time and each several times, and checks what came out."""

from __future__ import annotations

import asyncio
import re
import time
from collections.abc import Callable, Iterable, Sequence
from typing import TYPE_CHECKING, Any

import toolgate
from toolgate.agent import AgentLoop, ToolResultInfo, TurnDone, TurnFailed
from toolgate.errors import ToolError, ToolgateError
from toolgate.evaluation.report import CheckResult, Report, RunResult
from toolgate.evaluation.task import Check, Task
from toolgate.models import ModelClient
from toolgate.protocol.approval import Approval, ApprovalRequest
from toolgate.protocol.modes import ToolMode
from toolgate.runtime.builtin import agent_registry
from toolgate.runtime.own_tools import add_tools
from toolgate.sessions import InMemorySessions
from toolgate.settings import Settings
from toolgate.shell import ShellSession
from toolgate.workspace import Workspace
from toolgate.workspace.copies import temporary_copy

if TYPE_CHECKING:
    from toolgate.tools.base import CallableTool, Tool

NO_MODEL = "offline"


class Evaluation:
    """Runs tasks. Every run has a copy of its workspace, a session and a shell of its own."""

    def __init__(
        self,
        tasks: Sequence[Task],
        *,
        model: Callable[[], ModelClient] | None = None,
        settings: Settings | None = None,
        tools: Iterable[Tool[Any] | CallableTool] = (),
        repeat: int = 1,
        parallel: int = 2,
        on_result: Callable[[RunResult], object] | None = None,
    ) -> None:
        """`model` makes the client of one run. `settings=None` means the defaults; the environment is not read.

        Calls that need permission are allowed if they stay in the copy; those with full access are denied.
        """
        for name, value in (("repeat", repeat), ("parallel", parallel)):
            if not isinstance(value, int) or isinstance(value, bool) or value < 1:
                raise ValueError(f"{name} must be a number of at least 1, not {value!r}")
        if wrong := [task for task in tasks if not isinstance(task, Task)]:
            raise TypeError(f"{wrong[0]!r:.80} is not a toolgate.evaluation.Task: write load_tasks(directory)")
        if model is not None and not callable(model):
            raise TypeError(f"model must be a function that makes the client of one run, not {model!r:.80}")
        if model is None and (asking := [task.name for task in tasks if task.message is not None]):
            raise ValueError(f"task {asking[0]!r} has a message and needs a model: name one with --model")
        self._tasks = list(tasks)
        self._model = model
        settings = settings if settings is not None else Settings.defaults()
        session = settings.session.model_copy(update={"coding_enabled": True})
        self._settings = settings.model_copy(update={"session": session})
        self._tools = list(tools)
        self._repeat = repeat
        self._slots = asyncio.Semaphore(parallel)
        self._on_result = on_result

    async def run(self) -> Report:
        """Run all tasks; the results are in the order of the tasks."""
        runs = [(task, number) for task in self._tasks for number in range(1, self._repeat + 1)]
        async with asyncio.TaskGroup() as group:
            running = [group.create_task(self._run_once(task, number)) for task, number in runs]
        name = NO_MODEL if self._model is None else str(getattr(self._model(), "name", "model"))
        return Report(model=name, runs=tuple(task.result() for task in running))

    async def _run_once(self, task: Task, number: int) -> RunResult:
        async with self._slots:
            began = time.perf_counter()
            try:
                with temporary_copy(task.workspace) as root, Workspace(root) as workspace:
                    result = await self._in_copy(task, number, workspace)
            except OSError as error:  # the copy could not be made
                seconds = time.perf_counter() - began
                result = RunResult(task=task.name, run=number, seconds=seconds, error=f"no copy: {error.strerror}")
        if self._on_result is not None:
            self._on_result(result)
        return result

    async def _in_copy(self, task: Task, number: int, workspace: Workspace) -> RunResult:
        began, notes = time.perf_counter(), dict[str, Any]()
        try:
            async with asyncio.timeout(task.timeout):
                notes = await (self._calls(task, workspace) if task.call else self._turn(task, workspace))
        except TimeoutError:
            notes = {"error": f"it took longer than {task.timeout:g} s"}
        except ToolgateError as error:
            notes = {"error": str(error)}
        seconds = time.perf_counter() - began
        checks = [await _checked(check, workspace, self._settings) for check in task.check]
        return RunResult(task=task.name, run=number, seconds=seconds, checks=tuple(checks), **notes)

    async def _calls(self, task: Task, workspace: Workspace) -> dict[str, Any]:
        failed = 0
        async with toolgate.open(
            workspace.root, task.mode, _allow_confined, self._settings, tools=self._tools, session_id=task.name
        ) as toolset:
            for call in task.call:
                failed += (await toolset.call(call.tool, **call.arguments)).is_error
        return {"calls": len(task.call), "failed_calls": failed}

    async def _turn(self, task: Task, workspace: Workspace) -> dict[str, Any]:
        assert self._model is not None
        assert task.message is not None
        registry = agent_registry()
        add_tools(registry, self._tools)
        notes: dict[str, Any] = {"calls": 0, "failed_calls": 0}
        async with (
            InMemorySessions(self._settings.session) as sessions,
            AgentLoop(
                self._model(),
                registry,
                sessions,
                workspace=workspace,
                approver=_allow_confined,
                settings=self._settings,
            ) as loop,
        ):
            session = await sessions.create(ToolMode(task.mode))
            async for event in loop.handle_message(session.id, task.message):
                if isinstance(event, ToolResultInfo):
                    notes["calls"] += 1
                    notes["failed_calls"] += event.result.is_error
                elif isinstance(event, TurnDone):
                    notes |= {"input_tokens": event.usage.input_tokens, "output_tokens": event.usage.output_tokens}
                elif isinstance(event, TurnFailed):
                    notes["error"] = f"{event.code}: {event.message}"
        return notes


async def _allow_confined(request: ApprovalRequest) -> Approval:
    """Allow what stays in the copy. Full access would reach beyond it."""
    full = "full access" in request.labels or "not confined" in request.labels
    return Approval(allowed=not full, message="an evaluation has no full access" if full else "")


async def _checked(check: Check, workspace: Workspace, settings: Settings) -> CheckResult:
    detail = (
        _file_problem(check, workspace)
        if check.file is not None
        else await _command_problem(check, workspace, settings)
    )
    return CheckResult(check=str(check), passed=not detail, detail=detail)


async def _command_problem(check: Check, workspace: Workspace, settings: Settings) -> str:
    """Run the command in a fresh sandboxed shell, so that changes to the agent's own shell have no effect."""
    assert check.command is not None
    async with ShellSession(workspace, settings=settings) as shell:
        try:
            done = await shell.execute(check.command, timeout=check.timeout)
        except ToolError as error:
            return f"{error.message} {error.next_step}".strip()
    if done.exit_code == 0:
        return ""
    how = f"took longer than {check.timeout:g} s" if done.timed_out else f"exit code {done.exit_code}"
    output = (done.stderr.strip() or done.stdout.strip())[-200:]
    return f"{how}{f': {output}' if output else ''}"


def _file_problem(check: Check, workspace: Workspace) -> str:
    assert check.file is not None
    try:
        exists = workspace.stat(check.file) is not None
        if exists is not check.exists:
            return "it does not exist" if check.exists else "it exists"
        text = workspace.read_text(check.file) if exists else ""
    except ToolError as error:
        return error.message
    if check.contains is not None and check.contains not in text:
        return "it does not contain that"
    if check.equals is not None and check.equals != text:
        return "it is not that"
    if check.matches is not None and re.search(check.matches, text, re.MULTILINE) is None:
        return "nothing in it matches that"
    return ""
