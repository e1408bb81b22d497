"""`TypedTurn`: a person runs a command in the agent's shell. The model reads the result in the next turn."""

from __future__ import annotations

from typing import Any

from toolgate.agent.reply import Reply
from toolgate.agent.turn import RunningTurn
from toolgate.protocol.calls import ToolCall
from toolgate.protocol.ids import uuid7
from toolgate.protocol.jsontext import encode


def typed_command(command: str) -> ToolCall:
    """The call that runs a command that a person has typed."""
    return ToolCall(id=f"typed_{uuid7()}", name="Bash", arguments=encode({"command": command}))


class TypedTurn(RunningTurn):
    """Runs one call that a person has typed, through the same gates as a model's, and ends."""

    def __init__(self, call: ToolCall, *more: Any) -> None:
        super().__init__(*more)
        self._call = call

    async def rounds(self) -> None:
        """Run the call."""
        reply = Reply()
        reply.calls.append(self._call)
        await self._store_reply(reply)
        await self._run(reply.calls)
        self._check()
