"""`ShellSession`: runs commands in sequence, each in a fresh sandboxed bash with the state of the previous one."""

from __future__ import annotations

import asyncio
import os
import time
from collections.abc import Callable, Collection, Mapping, Sequence
from contextlib import nullcontext
from types import MappingProxyType
from typing import TYPE_CHECKING, Any, Literal

from toolgate.errors import ToolError
from toolgate.log import logger
from toolgate.protocol.closing import AsyncClosing
from toolgate.protocol.codes import ErrorCode
from toolgate.protocol.plan import Access
from toolgate.sandbox import choose_layer
from toolgate.shell import slots, state_text
from toolgate.shell.answer import CommandAnswer
from toolgate.shell.approved_scripts import check_scripts
from toolgate.shell.capture import Capture
from toolgate.shell.checks import check_access, check_command, check_root, check_timeout
from toolgate.shell.command_run import CommandRun, StateStuck, ViewReplaced
from toolgate.shell.console import Console
from toolgate.shell.jobs import Jobs
from toolgate.shell.locked_files import Look
from toolgate.shell.options import ShellOptions, is_file_below
from toolgate.shell.result import CommandResult, SandboxReport
from toolgate.shell.starter import Starter
from toolgate.shell.state import ShellState, initial
from toolgate.shell.state_dump import BadDump, left_running
from toolgate.shell.state_history import StateHistory, StateView
from toolgate.workspace.threads import Stop, in_thread

if TYPE_CHECKING:
    from toolgate.command.analysis import CommandPlan
    from toolgate.sandbox.layer import Layer
    from toolgate.settings import Settings
    from toolgate.workspace import Workspace
    from toolgate.workspace.file_guard import FileGuard

Stream = Literal["stdout", "stderr"]
OnOutput = Callable[[Stream, str], None]
"""Called on the event loop with what was just printed, decoded but with its terminal escapes."""

_START_SECONDS = 0.02
"""Seconds that starting and loading a shell takes. Commands that follow each other faster are quick."""
_ANSWER_SECONDS = 0.002
"""Seconds in which a caller has stored the answer. Until then, no shell is started if there is another one."""
_MAX_AHEAD = 4
"""Most shells that are started in advance. Setting up a sandbox mostly waits for the kernel."""
_SHORT_COMMAND = 1 << 12
"""Characters of the longest command that is searched for names of secret files without a thread."""

_LEFT_RUNNING = (
    "toolgate: {} started with '&' ended with this command. To keep one running, start it with background=true\n"
)
_NO_FUNCTIONS = (
    "toolgate: the shell's functions were left out, because the command may read a secret file and they cannot be "
    "checked; define in the command line what it needs\n"
)


class ShellSession(AsyncClosing):
    """A shell whose state persists, although no process does.

    `execute` calls queue in the order in which they were made. Cancelling one ends only its processes.
    """

    def __init__(
        self,
        workspace: Workspace,
        *,
        settings: Settings | None = None,
        options: ShellOptions | None = None,
        layer: Layer | None = None,
        environment: Mapping[str, str] | None = None,
        guard: FileGuard | None = None,
    ) -> None:
        """`guard` says which files commands cannot read unless a person allows it; None: they read every file."""
        self._guard = guard
        self._workspace = workspace
        self._root = str(workspace.root)
        self._options = options or ShellOptions.of(settings, self._root)
        self._layer = layer
        self._host = os.environ if environment is None else environment
        self._lock = asyncio.Lock()
        self._choosing = asyncio.Lock()
        self._made: tuple[Starter, StateHistory] | None = None
        self._generation = workspace.generation
        self._before: list[Starter] = []
        """Starters of a root that was deleted and has come back. Background jobs may still run in their sandboxes."""
        self._current: CommandRun | None = None
        self._watchers: set[asyncio.Task[None]] = set()
        self._closed = False
        self._answered = 0.0
        self._preparing: asyncio.TimerHandle | None = None
        """When shells are started in advance next; None if enough were started."""
        self._exported: tuple[tuple[ShellState, ...], str | None] | None = None
        self._lost_notes: list[str] = []
        """Notes about lost state, for the next command's answer."""
        self._quick_commands = 0
        """How many commands in a row were quick. So many more shells are started in advance."""
        self.interrupted: CommandResult | None = None
        """What the last cancelled command had printed."""
        self.jobs = Jobs(self._options.jobs, self._stop)

    async def __aenter__(self) -> ShellSession:
        return self

    async def __aexit__(self, *_: object) -> None:
        await self.close()

    async def choose_layer(self) -> None:
        """Find out in a thread which sandbox works here. On a stalled machine this takes up to 30 seconds.

        If it was not called before, the methods that are not awaited do the same and block the event loop.
        """
        if self._made is not None:
            return
        async with self._choosing:  # waiting calls continue in the order in which they were made
            if self._layer is None and self._made is None and not self._closed:
                self._layer = await in_thread(self._find_layer)
                if self._guard is not None:
                    await in_thread(lambda _stop, guard: guard.found(), self._guard)

    @property
    def cwd(self) -> str:
        """The shell's directory: relative to the root inside it, absolute elsewhere."""
        if self._made is None:
            return "."
        return self._history.directory_in(self._root)

    def view(self, access: Access = "write") -> StateView:
        """What a command with this access will find, for analysis and for the person who is asked."""
        return self._history.view(access)

    def state(self, access: Access = "write") -> ShellState:
        """The state that a command with this access gets. Command analysis follows its functions and aliases."""
        return self._history.for_access(access)

    def fresh_state(self, access: Access = "write") -> ShellState:
        """The state that a command gets right after a restart."""
        return self._history.first(access)

    def export_state(self) -> str | None:
        """Return the state as text for another process; None if there is none."""
        if self._made is None:
            return None
        if self._exported is None or self._exported[0] != self.states:
            self._exported = self.states, state_text.write(self._made[1], self._root)
        return self._exported[1]

    @property
    def states(self) -> tuple[ShellState, ...]:
        """All states that commands have left. They compare equal if nothing has changed."""
        return () if self._made is None else self._made[1].all

    def import_state(self, text: str) -> None:
        """Continue from a state that another process has exported."""
        if not state_text.read(text, self._history, self._root):
            self.report_lost_state("it was too large")

    def report_lost_state(self, reason: str) -> None:
        """Say in the next command's answer that the previous process's state could not be used."""
        self._lost_notes = [
            f"toolgate: the shell started anew, because its state could not be carried over: {reason}\n"
        ]

    def exists(self, path: str) -> bool:
        """Whether a path is a file that commands may read: then `bash FILE` is the real bash.

        It is relative to the root, or absolute: inside the root, a skill of the user or another readable directory.
        """
        return self._workspace.is_file(path) or is_file_below(path, (*self._options.readable, *self._options.extra))

    async def look(self, last: Look | None = None) -> Look:
        """Look for the files that commands cannot read, in a large project in a thread. If `last` holds, return it."""
        if last is not None and last.holds:
            return last
        guard = self._guard
        if guard is None:
            return Look()
        return Look(guard.found() if guard.is_quick else await in_thread(lambda _stop: guard.found()))

    async def secrets_in(self, command: str, analysed: CommandPlan, look: Look | None = None) -> tuple[str, ...]:
        """The secret files that a command names. A long command is looked through in a thread."""
        if self._guard is None:
            return ()
        look = await self.look(look)
        locked, cwd = self._starter.locked, self.cwd
        locked.note(look.found)
        place = "." if cwd.startswith("/") else cwd
        if len(command) <= _SHORT_COMMAND:
            return locked.named(command, analysed, place)
        return await in_thread(lambda _stop: locked.named(command, analysed, place))

    def sandbox(self, access: Access = "write") -> SandboxReport:
        """Return what would confine a command with this access."""
        return self._starter.report(access)

    async def execute(
        self,
        command: str,
        timeout: float | None = None,
        access: Access = "write",
        *,
        background: bool = False,
        to_background: bool = False,
        console: Console | None = None,
        deadline: float | None = None,
        cwd: str | None = None,
        roots: Sequence[str] = (),
        scripts: Mapping[str, str] = MappingProxyType({}),
        unlocked: Collection[str] = (),
        look: Look | None = None,
        on_output: OnOutput | None = None,
    ) -> CommandResult:
        """Run a command and return its result when it has ended, or at its deadline.

        `background` returns at once with a job. `to_background` makes it a job at the deadline instead of ending it.
        A job can have a `console`, into which input is written, and a `deadline` in seconds, at which it is ended.
        `cwd` is an absolute directory for this command only: the shell's own stays.
        `roots` are further host directories that `access="full"` may write, approved by a person. `scripts` are files
        inside the root that the command runs, with the hashes that a person has approved. Nothing else runs.
        `unlocked` are secret files, relative to the root, that a person lets the command read. `look` says which files
        the command cannot read. If it does not hold any more when the command begins, the session looks again.
        """
        check_command(command, self._options.command_bytes)
        check_access(access, roots)
        seconds = check_timeout(timeout, self._options)
        job = background or to_background
        self._quick_commands = self._quick_commands + 1 if time.monotonic() - self._answered < _START_SECONDS else 0
        async with self._lock, slots.running(), self.jobs.paused() if scripts else nullcontext():
            await self.choose_layer()
            await self._starter.warm_up(access)
            if job:
                self.jobs.check_room()
                await self._starter.share_network(access)
            is_repeated = False
            while True:
                look = await self.look(look)
                run = self._begin(
                    command, access, roots, scripts, unlocked, look, on_output, job, console=console, cwd=cwd
                )
                if background:
                    if scripts:
                        await run.taken()
                    return self._hand_over(run, access, deadline)
                try:
                    return await self._finish(run, seconds, access, to_background)
                except StateStuck:
                    logger("shell").warning("state_does_not_load")
                    self._history.forget_code(access)
                except ViewReplaced as error:  # nothing has run, and the next sandbox shows what is there now
                    if is_repeated:
                        raise _not_run(str(error)) from None
                    is_repeated = True

    async def restart(self) -> None:
        """Reset the state: directory, variables, functions. Background jobs continue."""
        async with self._lock:
            self._starter.discard()
            self._history.forget()

    async def aclose(self) -> None:
        """The same as `close`."""
        await self.close()

    async def close(self) -> None:
        """End all commands and remove the session's files."""
        self._closed = True
        if self._current is not None:
            await self._stop(self._current)
        await self.jobs.close()
        async with self._lock:
            made, self._made = self._made, None
            if made is not None:
                slots.forget(self)
                await made[0].shut()
            for starter in self._before:
                await starter.shut()
            self._before.clear()

    @property
    def _starter(self) -> Starter:
        return self._parts()[0]

    @property
    def _history(self) -> StateHistory:
        return self._parts()[1]

    def _parts(self) -> tuple[Starter, StateHistory]:
        """Open the session at the first use. Raises `ToolError` after `close`."""
        if self._closed:
            raise ToolError(ErrorCode.EXECUTION_ERROR, "This shell session is closed.", "Open a new session.")
        if self._made is None:
            layer = self._layer or self._find_layer()
            starter = Starter(self._root, layer, self._options, self._host, self._workspace.own_outputs, self._guard)
            self._made = starter, _new_history(self._root, starter)
        return self._made

    def _find_layer(self, _stop: Stop | None = None) -> Layer:
        writable = (self._root, *map(os.path.realpath, self._options.roots))
        return choose_layer(self._options.sandbox, writable, self._options.bubblewrap)

    def _follow_root(self) -> None:
        """Start over, as after a restart, on a root that was deleted and has come back."""
        if self._generation == self._workspace.generation:
            return
        self._generation = self._workspace.generation
        if self._made is not None:
            self._before.append(self._made[0])
            self._made[0].discard()
            self._made = None

    def _begin(
        self,
        command: str,
        access: Access,
        roots: Sequence[str],
        scripts: Mapping[str, str],
        unlocked: Collection[str],
        look: Look,
        on_output: OnOutput | None,
        job: bool,
        console: Console | None,
        cwd: str | None,
    ) -> CommandRun:
        check_root(self._workspace, self._root)
        self._follow_root()
        starter, history = self._parts()
        starter.has_jobs = self.jobs.any_running
        starter.locked.note(look.found)
        sealed = check_scripts(self._workspace, scripts)
        state = history.for_access(access).entering(cwd)
        git = None if job else starter.git_list(command, access, state)
        process = starter.start(access, state, roots, git, sealed, unlocked, console)
        if git is None and state.functions and process.loaded is not None and not process.loaded.functions:
            self._lost_notes.append(_NO_FUNCTIONS)
        starter.began(process, command, state, history.first(access))
        run = CommandRun(command, process, self._capture("stdout", on_output), self._capture("stderr", on_output))
        run.came_from = None if cwd is None else history.latest
        run.begin()
        return run

    def _capture(self, stream: Stream, on_output: OnOutput | None) -> Capture:
        places = self._starter.places
        return Capture(
            end_bytes=self._options.kept_bytes,
            max_stored=self._options.stored_bytes,
            opener=lambda: places.new_file("output"),
            listener=None if on_output is None else lambda text: on_output(stream, text),
        )

    async def _finish(self, run: CommandRun, seconds: float, access: Access, to_background: bool) -> CommandResult:
        self._current = run
        try:
            in_time = await run.wait(seconds)
            if not in_time and to_background:
                return self._hand_over(run, access)
            await (run.end_naturally() if in_time else run.stop(self._options.grace))
        except BaseException as error:
            await asyncio.shield(self._stop(run))
            if isinstance(error, asyncio.CancelledError) and not self._closed:
                self.interrupted = self._result(run, access, timed_out=True)
            raise
        finally:
            self._current = None
        starter = self._starter
        if run.process.refusal:
            await self._stop(run)
            raise ViewReplaced(run.process.refusal)
        if run.process.is_starved:
            await self._stop(run)
            raise _starved()
        notes = [*self._keep_state(run, access), *await starter.ended(run.process)]
        result = self._result(run, access, timed_out=not in_time, notes=notes)
        if self.jobs.any_running:
            run.process.retire_sandbox()
        loop = asyncio.get_running_loop()
        loop.call_soon(starter.close, run.process)
        # starting a shell blocks the event loop, and the caller has long output to cut or an answer to store
        wait = _ANSWER_SECONDS if starter.has_spare else 0.0
        if result.truncated:
            wait = _START_SECONDS
        self._prepare_in(wait, access)
        self._answered = time.monotonic()
        return result

    def _keep_state(self, run: CommandRun, access: Access) -> list[str]:
        """Remember the state that the command left; return notes about state that was lost."""
        lines, self._lost_notes = self._lost_notes, []
        history = self._history
        take = history.take if run.process.view.git is None else history.take_directory
        try:
            dump = run.process.dumped()
            if not run.stopped and (count := left_running(dump)):
                lines.append(_LEFT_RUNNING.format("a process" if count == 1 else f"{count} processes"))
            take(access, dump)
            if run.came_from is not None:
                history.return_to(run.came_from, access)
        except BadDump as error:
            logger("shell").warning("state_not_kept", reason=str(error))
            lines.append(
                f"toolgate: the shell's state after this command was not kept, because {error}; directory, variables "
                "and functions are those from before it\n"
            )
        return lines

    def _prepare_in(self, seconds: float, access: Access) -> None:
        """Start shells in advance after so many seconds, and not at the time that was set before."""
        if self._preparing is not None:
            self._preparing.cancel()
        self._preparing = asyncio.get_running_loop().call_later(seconds, self._prepare, access)

    def _prepare(self, access: Access) -> None:
        """Start shells in advance. While a command runs, they do not get their state yet."""
        self._preparing = None
        if self._closed or self._made is None:
            return
        starter, history = self._made
        starter.has_jobs = self.jobs.any_running
        try:
            state = None if self._lock.locked() else history.for_access(access)
            enough = starter.prepare(access, state, min(1 + self._quick_commands, _MAX_AHEAD))
        except (OSError, ToolError) as error:  # the next command reports the same error
            logger("shell").warning("shell_not_prepared", error=str(error))
            return
        slots.keep_waiting(self, starter.discard)
        if not enough:
            self._prepare_in(_ANSWER_SECONDS, access)

    def _hand_over(self, run: CommandRun, access: Access, deadline: float | None = None) -> CommandResult:
        job = self.jobs.add(run)
        run.process.retire_sandbox()
        watcher = asyncio.ensure_future(self._watch(run, self._starter, deadline))
        self._watchers.add(watcher)
        watcher.add_done_callback(self._watchers.discard)
        return self._result(run, access, timed_out=False, job=job)

    async def _watch(self, run: CommandRun, starter: Starter, deadline: float | None = None) -> None:
        await asyncio.wait([run.process.ended], timeout=deadline)
        if run.process.alive:
            run.expired = True
            await self._stop(run)
            return
        await run.empty()
        notes = await starter.ended(run.process, heard=False)
        if run.process.refusal:
            notes.append(f"toolgate: the command was not run: {run.process.refusal}\n")
        if run.alive:
            if notes:
                run.stderr.feed("".join(notes).encode())
            run.end()
        starter.close(run.process)

    async def _stop(self, run: CommandRun) -> None:
        await run.stop(self._options.grace)
        if self._made is not None:
            await self._made[0].ended(run.process, heard=False)
            self._made[0].close(run.process)

    def hint(self, run: CommandRun, screen: str) -> str:
        """Return a next step for a job that failed in its terminal; empty if the sandbox was not the cause."""
        return self._answer(run, run.access).hint(run.exit_code, "", screen)

    def _result(self, run: CommandRun, access: Access, **how: Any) -> CommandResult:
        return self._answer(run, access, **how).result(self.cwd)

    def _answer(self, run: CommandRun, access: Access, **how: Any) -> CommandAnswer:
        starter, history = self._parts()
        return CommandAnswer(
            run=run, access=access, root=self._root, starter=starter, history=history, jobs=self.jobs, **how
        )


def _new_history(root: str, starter: Starter) -> StateHistory:
    lower, full = starter.environment("write"), starter.environment("full")
    first = initial(root, lower)
    return StateHistory(first, first if full == lower else initial(root, full))


def _starved() -> ToolError:
    return ToolError(
        ErrorCode.EXECUTION_ERROR,
        "There is not enough memory to take in what the command printed. It was ended, perhaps halfway.",
        "Look at what it did, and let it print less, or into a file.",
    )


def _not_run(why: str) -> ToolError:
    return ToolError(
        ErrorCode.CONFLICT,
        f"The command was not run: {why}.",
        "Make the call again; if this repeats, end the background jobs that change the project.",
    )
