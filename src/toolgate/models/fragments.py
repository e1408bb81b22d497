"""Tool calls that come in fragments."""

from __future__ import annotations

from toolgate.protocol.calls import ToolCall
from toolgate.protocol.ids import uuid7


class _Call:
    __slots__ = ("arguments", "id", "name")

    def __init__(self) -> None:
        self.id = self.name = self.arguments = ""


class Fragments:
    """Puts calls together, in the order in which they began."""

    def __init__(self) -> None:
        self._calls: list[_Call] = []
        self._at: dict[int, _Call] = {}

    def add(
        self, index: int | None, *, call_id: str | None = None, name: str | None = None, text: str | None = None
    ) -> None:
        """One fragment of the call at `index`; servers that give no index go on with the last one."""
        call = self._at.get(index) if index is not None else (self._calls[-1] if self._calls else None)
        if call is None or (
            call_id and call.id not in ("", call_id)
        ):  # some servers count every call of a message as the first
            call = _Call()
            self._calls.append(call)
        if index is not None:
            self._at[index] = call
        call.id = call.id or call_id or ""
        call.name = call.name or name or ""
        call.arguments += text or ""

    def finished(self) -> list[ToolCall]:
        """All calls. One without an id gets one; one without a name keeps it empty and is answered as unknown."""
        return [
            ToolCall(id=call.id or f"call_{uuid7()}", name=call.name, arguments=call.arguments) for call in self._calls
        ]
