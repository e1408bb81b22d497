"""One turn: ask the model, run its calls, and repeat until it makes no more calls."""

from __future__ import annotations

import asyncio
import functools
from collections import deque
from collections.abc import Awaitable, Callable, Sequence
from typing import TYPE_CHECKING, Any, Literal

from toolgate.agent import permissions
from toolgate.agent.calls import announced, ended, groups, shortened
from toolgate.agent.compaction import Compactor
from toolgate.agent.dependencies import TurnCounters, TurnDependencies
from toolgate.agent.events import Activity, AgentEvent, ModelRetry, TextChunk, ToolOutput
from toolgate.agent.recording import Entry, TurnRecorder
from toolgate.agent.reply import Reply, ask
from toolgate.agent.turn_context import Modes, TurnContext
from toolgate.agent.turn_hooks import turn_ended, turn_started
from toolgate.errors import ModelError, ToolgateError
from toolgate.protocol.calls import ToolCall, ToolResult
from toolgate.protocol.ids import uuid7
from toolgate.protocol.jsontext import encode
from toolgate.protocol.modes import ApprovalMode, ToolMode
from toolgate.runtime.hook_source import hooks_of
from toolgate.runtime.pending import PendingResult
from toolgate.runtime.toolset import CallableToolset
from toolgate.sessions import Lease, SessionManager, Usage
from toolgate.sessions.approvals import PLAN_TOOL
from toolgate.tools.text import load_text

if TYPE_CHECKING:
    from toolgate.agent.handoff import SessionHandoff

_MAX_REFUSALS = 8
"""Requests of one turn that may be too long before the turn fails."""
_WAITING = "Waiting for sub-agents in the background"
MAX_MESSAGE_BYTES = 1024 * 1024
"""The largest message, in bytes."""


class TurnStopped(Exception):
    """The turn was asked to stop."""


class RunningTurn:
    """The rounds of one turn. Every message is stored before it is emitted; `stop` ends the turn properly."""

    def __init__(
        self,
        dependencies: TurnDependencies,
        lease: Lease,
        turn_id: str,
        mode: ToolMode,
        toolset: CallableToolset,
        recorder: TurnRecorder,
        emit: Callable[[AgentEvent], None],
        compactor: Compactor,
    ) -> None:
        self._dependencies = dependencies
        self._lease = lease
        self._turn_id = turn_id
        self._mode = mode
        self._toolset = toolset
        self._recorder = recorder
        self._emit = emit
        self._pending: list[PendingResult] = []
        self._waiting: deque[tuple[ToolCall, PendingResult]] = deque()
        self._unanswered: list[ToolCall] = []
        self._asking: asyncio.Task[Any] | None = None
        self._stopping = False
        self._refusals = 0
        """How often the model has found a request of this turn too long."""
        self.text = ""
        """The model's last message."""
        self.counters = TurnCounters()
        loaded = toolset.context.loaded_tools
        self._loaded: set[str] = set() if loaded is None else loaded
        """The deferred tools whose schemas are offered."""
        self._context = TurnContext(
            dependencies, lease, turn_id, self._modes, self._loaded, compactor, self._tell, self.counters
        )
        self.live = False
        """Whether live events are emitted, too: retries, and activities such as writing a summary."""
        toolset.context.refresh_permissions = self._refresh
        self.is_fresh = False
        """Whether the permissions were read since the last request."""
        self.is_handed_over = False
        """Whether this process has stopped running the turn, and another process continues it."""
        self.handoff: SessionHandoff | None = None
        """The state that another process needs to resume the session; None for turns of sub-agents."""

    @property
    def agent(self) -> str:
        """The name of the agent whose turn it is."""
        return self._toolset.context.agent or "toolgate"

    @property
    def session_id(self) -> str:
        """The session of the turn."""
        return self._lease.session_id

    @property
    def unstored(self) -> list[Entry]:
        """What could not be stored: messages, and records of calls."""
        return self._recorder.unstored

    def stop(self) -> None:
        """Stop the turn: the model is interrupted, open calls are cancelled, and every call gets a stored answer."""
        if self._stopping:
            return
        self._stopping = True
        for pending in self._pending:
            pending.cancel()
        if self._asking is not None:
            self._asking.cancel()

    async def rounds(self) -> None:
        """Ask the model and run its calls until there are none. Raises `TurnStopped`, `ModelError`, store errors."""
        self._context.load(await self._dependencies.sessions.context(self._lease.session_id))
        await self._begin()
        await self._go_on(self._dependencies.settings.max_rounds)

    async def _begin(self) -> None:
        """Let hooks of the user see the person's message. What they add is for this turn only and is not stored."""
        history = self._context.history
        last = next((index for index in reversed(range(len(history))) if history[index]["role"] == "user"), None)
        prompt = "" if last is None else str(history[last]["content"])
        context, added = self._toolset.context, list[str]()

        async def ask_hooks() -> None:
            added.append(await turn_started(context, self._turn_id, prompt))

        await self._unless_stopped(ask_hooks())
        if last is not None and added[0]:
            history[last] = {**history[last], "content": f"{prompt}\n\n{added[0]}"}

    async def run_end_hooks(self, status: str, code: str) -> None:
        """Let hooks of the user know how the turn ended, unless another process goes on with it."""
        if not self.is_handed_over:
            await turn_ended(self._toolset.context, self._turn_id, status, code, self.text)

    async def _go_on(self, rounds: int) -> None:
        for _ in range(rounds):
            reply = Reply()
            try:
                await self._ask(reply)
            except (ModelError, TurnStopped, asyncio.CancelledError):
                if reply.text:  # text that was shown is stored; calls that were not announced are dropped
                    reply.calls.clear()
                    await self._store_reply(reply)
                raise
            await self._store_reply(reply)
            if reply.calls:
                await self._run(reply.calls)
                self._check()
            if not await self._report_ended_tasks(wait=not reply.calls) and not reply.calls:
                return
        await self._end_after_last_round()

    async def _report_ended_tasks(self, *, wait: bool) -> bool:
        """Report the sub-agents that have ended in the background to the model; return whether there were any.

        The runtime makes a call of `task` for the model, and its result is the report. A turn does not end before its
        sub-agents: with `wait`, wait until one of them ends.
        """
        background = getattr(self._toolset.context.agents, "background", None)
        if background is None:
            return False
        if wait and background.running and not background.ended():
            await self._context.report_activity(Activity(what="waiting", text=_WAITING))
        while wait and background.running and not background.ended():
            await self._unless_stopped(background.wait())
        ended = background.ended()
        if not ended:
            return False
        reply = Reply()
        reply.calls += [ToolCall(id=f"task_{uuid7()}", name="task", arguments=encode({"id": name})) for name in ended]
        for name in ended:
            background.mark_reported(name)
        await self._store_reply(reply)
        await self._run(reply.calls)
        self._check()
        return True

    async def _unless_stopped(self, waiting: Awaitable[None]) -> None:
        """Wait for something that `stop` interrupts."""
        task = self._asking = asyncio.current_task()
        try:
            await waiting
        except asyncio.CancelledError:
            if task is not None and self._stopping:
                task.uncancel()
            self._check()
            raise
        finally:
            self._asking = None
        self._check()

    async def end_tasks(self) -> None:
        """End the sub-agents that still run in the background, because the turn has ended."""
        background = getattr(self._toolset.context.agents, "background", None)
        if background is not None:
            await background.close()

    def _tell(self, event: AgentEvent) -> None:
        """Emit an event of the context."""
        if self.live or not isinstance(event, Activity):
            self._emit(event)

    def _check(self) -> None:
        if self._stopping:
            raise TurnStopped

    async def _end_after_last_round(self) -> None:
        """End with a message which says that all rounds were used."""
        text = load_text(__file__).format(rounds=self._dependencies.settings.max_rounds)
        self._emit(TextChunk(content=text))
        await self._store_reply(Reply(text))

    async def _ask(self, reply: Reply) -> None:
        """Get one answer of the model. A conversation that is too long for it is compacted and sent again."""
        while True:
            asking = self._asking = asyncio.current_task()
            size = 0
            try:
                if not self.is_fresh:
                    await self._refresh()
                self.is_fresh = False
                request, size = await self._context.request()
                self._check()
                await ask(
                    self._dependencies.model,
                    request,
                    reply,
                    lambda text: self._emit(TextChunk(content=text)),
                    retries=self._dependencies.settings.retries,
                    wait=self._dependencies.first_wait,
                    max_bytes=self._dependencies.settings.max_answer_bytes,
                    on_retry=self._retrying,
                )
                self._dependencies.limits.accepted(self._dependencies.model, size)
                return
            except ModelError as error:
                if error.code == "MODEL_BAD_REQUEST" and not reply.text and self._context.without_pictures():
                    continue
                if error.code != "MODEL_CONTEXT" or reply.text or not self._shrink(size, error):
                    raise
            except asyncio.CancelledError:
                if asking is not None and self._stopping:
                    asking.uncancel()
                self._check()
                raise
            finally:
                self._asking = None
                self.counters.input_tokens += reply.input_tokens
                self.counters.output_tokens += reply.output_tokens

    def _shrink(self, size: int, error: ModelError) -> bool:
        """Lower the model's limit after a refusal; False if a shorter request cannot help or was refused as well."""
        before = self._dependencies.limits.of(self._dependencies.model)
        self._refusals += 1
        if self._refusals > _MAX_REFUSALS or not self._dependencies.limits.refused(
            self._dependencies.model, size, error
        ):
            return False
        return self._dependencies.limits.of(self._dependencies.model) < before

    async def _retrying(self, attempt: int, of: int, seconds: float, error: ModelError) -> None:
        """Store and emit the event that the model is asked again."""
        retry = ModelRetry(attempt=attempt, of=of, seconds=round(seconds, 1), code=error.code, message=error.cause)
        await self._dependencies.sessions.append_event(
            self._lease, "model_retry", retry.model_dump(), turn_id=self._turn_id
        )
        if self.live:
            self._emit(retry)

    def _modes(self) -> Modes:
        """The modes to pass to the registry and the prompt. Third-party ones may not accept an approval mode."""
        approval_mode = self._toolset.context.approval_mode
        return (self._mode,) if approval_mode is ApprovalMode.ask else (self._mode, approval_mode)

    async def _refresh(self) -> None:
        """Read the permissions again: the person may have switched the approval mode or written a rule."""
        dependencies = self._dependencies
        await permissions.refresh(
            self._toolset.context, dependencies.sessions, self._lease.session_id, dependencies.project
        )
        self.is_fresh = True

    async def _store_reply(self, reply: Reply) -> None:
        """Store the model's message and its calls."""
        self.text = reply.text
        text = _bounded(reply.text)
        calls = [shortened(call) for call in reply.calls]
        usage = Usage(input_tokens=reply.input_tokens, output_tokens=reply.output_tokens)
        await self._recorder.message(text, calls, usage, hold=self._may_hold())
        message: dict[str, Any] = {"role": "assistant", "content": text}
        if calls:
            message["tool_calls"] = [
                {"id": call.id, "type": "function", "function": {"name": call.name, "arguments": call.arguments}}
                for call in calls
            ]
        self._context.history.append(message)

    def _may_hold(self) -> bool:
        """Whether a message may be stored together with the start of its first call.

        Not with hooks of the user, which see a call before it starts, and not with a third-party store.
        """
        return isinstance(self._dependencies.sessions, SessionManager) and hooks_of(self._toolset.context) is None

    async def _run(self, calls: Sequence[ToolCall]) -> None:
        """Run the calls of one answer. If their ends cannot be stored, all open calls are cancelled."""
        self._unanswered = list(calls)
        try:
            await self._run_groups(calls)
        except ToolgateError:
            await self._cancel_open_calls()
            raise
        except asyncio.CancelledError:
            await self._recorder.store_message()
            raise

    async def _cancel_open_calls(self) -> None:
        """Cancel the calls without an answer, and keep their answers until the store works again."""
        running = {id(call): pending for call, pending in self._waiting}
        open_calls = [(call, running.get(id(call)) or self._toolset.handle(call)) for call in self._unanswered]
        for _, pending in open_calls:
            pending.cancel()
        answers = [(call, await pending) for call, pending in open_calls]
        await self._recorder.close([(call, result, _bounded(result.output)) for call, result in answers])
        self._pending, self._waiting = [], deque()

    async def _run_groups(self, calls: Sequence[ToolCall]) -> None:
        """Run consecutive read-only calls at the same time, and all other calls alone, in order."""
        cancelled: asyncio.CancelledError | None = None
        for group in groups(calls, self._toolset.is_read_only):
            self._pending = []
            if not all(self._toolset.is_read_only(call.name) for call in group):
                await self._refresh()
            for call in group:
                self._recorder.when_stored(functools.partial(self._announce, call))
                self._pending.append(self._toolset.handle(call))
                if self._stopping:
                    self._pending[-1].cancel()
            waiting = self._waiting = deque(zip(group, self._pending, strict=True))
            asyncio.get_running_loop().call_soon(self._recorder.store_message_soon)
            while waiting:
                try:
                    await waiting[0][1]
                    if len(waiting) > 1:
                        await asyncio.sleep(0)  # calls that ended at the same time are stored together
                except asyncio.CancelledError as error:  # the event loop is shutting down: close what is open
                    cancelled = error
                    self.stop()
                    await waiting[0][1]
                answers = []
                while waiting and waiting[0][1].done():
                    call, pending = waiting.popleft()
                    answers.append((call, await pending))
                await self._answered(answers)
        self._pending = []
        if cancelled is not None:
            raise cancelled

    def _announce(self, call: ToolCall) -> None:
        self._emit(announced(shortened(call)))

    async def _answered(self, answers: Sequence[tuple[ToolCall, ToolResult]]) -> None:
        """Store results together, then emit them in order."""
        stored = [(call, result, _bounded(result.output)) for call, result in answers]
        del self._unanswered[: len(stored)]
        await self._recorder.close(stored)
        for call, result, output in stored:
            self._context.add_answer({"role": "tool", "content": output, "tool_call_id": call.id}, result.content)
            self.counters.calls[call.name] += 1
            declared = self._dependencies.registry.declaration(call.name)
            if declared is not None and declared.deferred:  # called without its schema: the next request has it
                self._loaded.add(call.name)
            self.is_fresh = self.is_fresh and call.name != PLAN_TOOL  # accepting a plan switches the approval mode
            self.counters.errors[call.name] += result.is_error
            self._emit(ended(call, result))

    def show_output(self, stream: Literal["stdout", "stderr"], text: str) -> None:
        """Emit live output. Commands run alone, so it belongs to the only pending call."""
        if self._pending:
            self._emit(ToolOutput(call_id=self._pending[0].tool_call_id, stream=stream, text=text))


def _bounded(text: str) -> str:
    """The text, cut to the size of a message."""
    if len(text) <= MAX_MESSAGE_BYTES // 4:
        return text
    encoded = text.encode("utf-8", "replace")
    return text if len(encoded) <= MAX_MESSAGE_BYTES else encoded[:MAX_MESSAGE_BYTES].decode("utf-8", "ignore")
