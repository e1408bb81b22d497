"""`ResumedTurn`: a turn that another process has started, resumed from its stored state."""

from __future__ import annotations

from collections.abc import Sequence

from toolgate.agent.turn import RunningTurn
from toolgate.protocol.calls import ToolCall, ToolResult


class ResumedTurn(RunningTurn):
    """Resumes a turn where the previous process stopped.

    The model is not asked twice for the same answer, and a call that has ended is not run again. A call that had
    started is repeated if its tool allows that; otherwise the model is told that the outcome is unknown.
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
        """Return False: the message is stored at once, so that the next process need not ask the model again."""
        return False

    async def _answered(self, answers: Sequence[tuple[ToolCall, ToolResult]]) -> None:
        """Store results. A call whose start could not be recorded is left to the next process."""
        if self._recorder.failed is not None:
            raise self._recorder.failed
        await super()._answered(answers)

    async def _cancel_open_calls(self) -> None:
        """Cancel the calls that run here and store nothing: the next process decides about them."""
        for _, pending in self._waiting:
            pending.cancel()
        for _, pending in self._waiting:
            await pending

    def _may_repeat(self, name: str) -> bool:
        """Whether a call that had started may be run again. A sub-agent on a worker is resumed."""
        agents = self._toolset.context.agents
        return self._toolset.may_repeat(name) or (name == "task" and getattr(agents, "durable", False) is True)
