"""A turn that somebody else has begun, from where it stands."""

from __future__ import annotations

from collections.abc import Sequence

from toolgate.agent.turn import Turn
from toolgate.protocol.calls import ToolCall, ToolResult


class ResumedTurn(Turn):
    """Goes on where the last process that played it had stopped.

    What was said is not said again, and a call that has ended is not run again. A call that had started is repeated if
    that does no harm; otherwise the model is told that nobody knows its outcome.
    """

    async def rounds(self) -> None:
        """Put the open calls in order, run those that may run, and go on."""
        sessions = self._dependencies.sessions
        standing = await sessions.resume_turn(self._lease, self._turn_id, self._may_repeat)
        self._history = [message.to_dict() for message in standing.messages]
        if standing.said:
            self.text = standing.messages[-1].content
            return
        if standing.calls:
            await self._run(standing.calls)
            self._check()
        await self._go_on(self._dependencies.settings.max_rounds - standing.rounds)

    async def _answered(self, answers: Sequence[tuple[ToolCall, ToolResult]]) -> None:
        """Store results; but a call that could not be begun for want of a record is left to whoever goes on."""
        if self._recorder.failed is not None:
            raise self._recorder.failed
        await super()._answered(answers)

    async def _take_back(self) -> None:
        """End the calls that run here. Nothing is noted about them: whoever goes on decides."""
        for _, pending in self._waiting:
            pending.cancel()
        for _, pending in self._waiting:
            await pending

    def _may_repeat(self, name: str) -> bool:
        """Whether a call that had started may be run again; a sub-agent that works elsewhere is found again."""
        agents = self._toolset.context.agents
        return self._toolset.may_repeat(name) or (name == "task" and getattr(agents, "durable", False) is True)
