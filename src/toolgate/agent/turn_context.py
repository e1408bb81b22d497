"""What the model reads in a turn: the prompt, the tools, and as much of the conversation as fits."""

from __future__ import annotations

from collections.abc import Callable, Collection, Sequence
from typing import TYPE_CHECKING, Any

from toolgate.agent.compaction import Compactor, tokens_of
from toolgate.agent.events import Activity, AgentEvent, Compacted
from toolgate.agent.pictures import SessionPictures
from toolgate.agent.summaries import message_text, size_of, summary_messages, write_summary
from toolgate.errors import ModelError, ToolgateError
from toolgate.log import logger
from toolgate.models.base import ModelRequest
from toolgate.protocol.content import ImageContent
from toolgate.protocol.modes import ApprovalMode, ToolMode
from toolgate.sessions import Context, Lease, Usage

if TYPE_CHECKING:
    from toolgate.agent.dependencies import TurnCounters, TurnDependencies
    from toolgate.tools.declaration import Declaration

Modes = tuple[ToolMode] | tuple[ToolMode, ApprovalMode]
"""The tool mode, and the approval mode unless it is `ask`: third-party registries and prompts may not accept one."""
_FrameKey = tuple[Modes, "list[Declaration]", frozenset[str]]
_COMPACTING = "Summarising the earlier part of the conversation"


class NothingToCompact(ToolgateError):
    """There are no older messages that a summary could replace."""


class TurnContext:
    """The conversation of one turn, in the form of OpenAI's chat API."""

    def __init__(
        self,
        dependencies: TurnDependencies,
        lease: Lease,
        turn_id: str,
        modes: Callable[[], Modes],
        loaded: Collection[str],
        compactor: Compactor,
        emit: Callable[[AgentEvent], None],
        counters: TurnCounters,
    ) -> None:
        self._dependencies = dependencies
        self._lease = lease
        self._turn_id = turn_id
        self._modes = modes
        self._loaded = loaded
        """The deferred tools that the session has loaded, as they are now."""
        self._compactor = compactor
        self._emit = emit
        self._counters = counters
        self._stored = Context()
        self._first = 0
        """Index of the first message after the summary."""
        self._summarises = True
        """Whether the model is asked for summaries. After a failure it is not asked again in this turn."""
        self._frame_cache: tuple[_FrameKey, list[dict[str, Any]], str, int] | None = None
        self.history: list[dict[str, Any]] = []
        self._pictures = SessionPictures(dependencies.sessions, lease.session_id, dependencies.model)

    def add_answer(self, message: dict[str, Any], images: Sequence[ImageContent]) -> None:
        """Add the answer to a call."""
        self.history.append(self._pictures.attached(message, images))

    def load(self, stored: Context) -> None:
        """Start with the stored conversation."""
        self._stored = stored
        self._compactor.budget = self._dependencies.limits.of(self._dependencies.model)
        before = summary_messages(stored.summary, stored.quoted, self._compactor.budget)
        self._first = len(before)
        messages = self._compactor.chat_messages(stored.messages)
        for index, message in enumerate(stored.messages):
            if message.images:
                messages[index] = self._pictures.attached(messages[index], message.images)
        self.history = [*before, *messages]
        self._compactor.begin(self.history)

    def without_pictures(self) -> bool:
        """Send no more pictures in this turn; False if none were sent."""
        if not self._pictures.refused(self.history):
            return False
        self._compactor.clear()
        return True

    async def request(self) -> tuple[ModelRequest, int]:
        """The next request, and its approximate number of tokens."""
        tools, prompt, spent = await self._frame()
        compactor = self._compactor
        self._counters.context_limit = compactor.budget = self._dependencies.limits.of(self._dependencies.model)
        if self._summarises and (end := compactor.summary_end(self.history, spent, self._first)):
            await self._try_to_summarise(end, spent)
        kept, size, before = compactor.fit(self.history, spent)
        self._counters.context_tokens = size
        if size < before:
            payload = {"before_tokens": before, "after_tokens": size, "by": "budget", "summary": ""}
            await self._store("compacted", payload)
            self._emit(Compacted(before_tokens=before, after_tokens=size))
        return ModelRequest([{"role": "system", "content": prompt}, *await self._pictures.filled(kept)], tools), size

    async def compact(self) -> None:
        """Summarise everything, because the person asked for it."""
        _, _, spent = await self._frame()
        if sum(message["role"] != "tool" for message in self.history[self._first :]) < 2:
            raise NothingToCompact("There is nothing to summarise yet.")
        self._counters.context_limit = self._compactor.budget
        await self._summarise(len(self.history), spent)
        self._counters.context_tokens = spent + size_of(self.history)

    async def _frame(self) -> tuple[list[dict[str, Any]], str, int]:
        """The part of a request without messages: tools, prompt, and their tokens. Built again only after a change."""
        modes = self._modes()
        declarations = self._dependencies.registry.list_declarations(*modes)
        key = modes, declarations, frozenset(self._loaded)
        if self._frame_cache is None or self._frame_cache[0] != key:
            tools, tokens = self._dependencies.offered.of(self._dependencies.registry, modes, self._loaded)
            prompt = await self._dependencies.prompt.build(self._lease.session_id, *modes)
            self._frame_cache = key, tools, prompt, tokens_of({"content": prompt}) + tokens
        return self._frame_cache[1:]

    async def _try_to_summarise(self, end: int, spent: int) -> None:
        """Summarise the first messages; if that fails, older steps are left out instead."""
        try:
            await self._summarise(end, spent)
        except ModelError as error:
            self._summarises = False
            logger("agent").warning("summary_failed", session_id=self._lease.session_id, code=error.code)

    async def report_activity(self, activity: Activity) -> None:
        """Store and emit what the turn is doing."""
        await self._store("activity", {"what": activity.what, "text": activity.text})
        self._emit(activity)

    async def _summarise(self, end: int, spent: int) -> None:
        covered, rest = self.history[self._first : end], self.history[end:]
        await self.report_activity(Activity(what="compacting", text=_COMPACTING))
        text, reply = await write_summary(self._dependencies, self._stored.summary, covered, self._compactor.budget)
        self._counters.input_tokens += reply.input_tokens
        self._counters.output_tokens += reply.output_tokens
        texts = tuple(message_text(message) for message in covered if message["role"] == "user")
        stored = Context(summary=text, quoted=(*self._stored.quoted, *texts))
        history = [*summary_messages(text, stored.quoted, self._compactor.budget), *rest]
        before, after = spent + size_of(self.history), spent + size_of(history)
        if after >= before:
            raise ModelError("MODEL_PROTOCOL", "The summary is longer than what it replaces. Nothing was changed.")
        steps = sum(message["role"] != "tool" for message in covered)
        usage = Usage(input_tokens=reply.input_tokens, output_tokens=reply.output_tokens)
        await self._dependencies.sessions.summarise(
            self._lease, self._turn_id, text, steps, tokens=(before, after), usage=usage
        )
        self._stored, self.history, self._first = stored, history, len(history) - len(rest)
        self._compactor.clear()
        self._emit(Compacted(before_tokens=before, after_tokens=after, by="model", summary=text))

    async def _store(self, kind: str, payload: dict[str, Any]) -> None:
        await self._dependencies.sessions.append_event(self._lease, kind, payload, turn_id=self._turn_id)
