"""A turn that another process has started, resumed from its stored state."""

from __future__ import annotations

import asyncio
from collections.abc import Sequence

from toolgate.agent.turn import RunningTurn
from toolgate.protocol.calls import ToolCall, ToolResult


class ResumedTurn(RunningTurn):
    """Resumes a turn where the previous process stopped.

    Nothing is said twice, and a call that has ended is not run again. A call that had started is repeated if its tool
    allows that; otherwise the model is told that the outcome is unknown.
    """

    async def rounds(self) -> None:
        """Recover the open calls, run those that may run, and continue."""
        sessions = self._dependencies.sessions
        point = await sessions.resume_turn(self._lease, self._turn_id, self._may_repeat)
        self._context.load(point.context)
        if not point.has_message:
            await self._context.compact()
            return
        if point.is_answered:
            self.text = point.context.messages[-1].content
            return
        if point.calls:
            await self._run(point.calls)
            self._check()
        if not point.rounds:
            await self._begin()
        await self._go_on(self._dependencies.settings.max_rounds - point.rounds)

    def _may_hold(self) -> bool:
        """Never: if this process ends, the next one runs the calls without asking the model again."""
        return False

    async def _answered(self, answers: Sequence[tuple[ToolCall, ToolResult]]) -> None:
        """Store results. A call whose start could not be recorded is left to the next process."""
        if self._recorder.failed is not None:
            raise self._recorder.failed
        await super()._answered(answers)

    async def _take_back(self) -> None:
        """End the calls that run here, without storing anything: the next process decides about them."""
        for _, pending in self._waiting:
            pending.cancel()
        for _, pending in self._waiting:
            await pending

    def _may_repeat(self, name: str) -> bool:
        """Whether a call that had started may be run again. A sub-agent on a worker is found again."""
        agents = self._toolset.context.agents
        return self._toolset.may_repeat(name) or (name == "task" and getattr(agents, "durable", False) is True)


class CompactionTurn(RunningTurn):
    """A turn without a message: the model summarises the conversation, because the person asked for it."""

    async def rounds(self) -> None:
        """Write the summary."""
        self._context.load(await self._dependencies.sessions.context(self._lease.session_id))
        self._asking = asyncio.current_task()
        try:
            await self._context.compact()
        except asyncio.CancelledError:
            if self._stopping and self._asking is not None:
                self._asking.uncancel()
            self._check()
            raise
        finally:
            self._asking = None
