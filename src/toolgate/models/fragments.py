"""Tool calls that come in fragments, with a bound on what is kept of them."""

from __future__ import annotations

from typing import Final

from toolgate.errors import ModelError
from toolgate.protocol.calls import ToolCall
from toolgate.protocol.ids import uuid7

LARGEST_ARGUMENTS: Final = 1024 * 1024
"""Bytes of one call's arguments; a call with more is refused."""
LARGEST_CALLS: Final = 8 * 1024 * 1024
"""Bytes of all calls of one answer."""
MOST_CALLS: Final = 4096
"""Calls in one answer."""


def too_many_calls() -> ModelError:
    """An answer with more calls than anybody could want."""
    return ModelError("MODEL_PROTOCOL", f"The model asked for more than {MOST_CALLS} tool calls at once.")


def too_large_calls() -> ModelError:
    """An answer whose calls are too large together."""
    return ModelError(
        "MODEL_PROTOCOL", f"The tool calls of one answer have more than {LARGEST_CALLS} bytes of arguments."
    )


class _Call:
    __slots__ = ("id", "name", "parts", "size")

    def __init__(self) -> None:
        self.id = self.name = ""
        self.parts: list[str] = []
        self.size = 0


class Fragments:
    """Puts calls together, in the order in which they began."""

    def __init__(self) -> None:
        self._calls: list[_Call] = []
        self._at: dict[int, _Call] = {}
        self._size = 0
        self._refused: _Call | None = None

    @property
    def refused(self) -> bool:
        """Whether a call has more arguments than are allowed: nothing that follows it has to be read."""
        return self._refused is not None

    def add(
        self, index: int | None, *, call_id: str | None = None, name: str | None = None, text: str | None = None
    ) -> None:
        """One fragment of the call at `index`; servers that give no index go on with the last one.

        Raises `ModelError` if there are too many calls, or if they are too large together.
        """
        call = self._at.get(index) if index is not None else (self._calls[-1] if self._calls else None)
        if call is None or (
            call_id and call.id not in ("", call_id)
        ):  # some servers count every call of a message as the first
            if len(self._calls) == MOST_CALLS:
                raise too_many_calls()
            call = _Call()
            self._calls.append(call)
        if index is not None:
            self._at[index] = call
        call.id = call.id or call_id or ""
        call.name = call.name or name or ""
        if text:
            self._add_text(call, text)

    def _add_text(self, call: _Call, text: str) -> None:
        size = len(text) if text.isascii() else len(text.encode("utf-8", "surrogatepass"))
        call.parts.append(text)
        call.size += size
        self._size += size
        if call.size > LARGEST_ARGUMENTS:
            self._refused = call
        elif self._size > LARGEST_CALLS:
            raise too_large_calls()

    def finished(self) -> list[ToolCall]:
        """All calls. One without an id gets one; one without a name keeps it empty and is answered as unknown.

        With a refused call, which is passed on as far as it came, those that began after it are left out: nobody
        knows whether they are whole.
        """
        calls = self._calls if self._refused is None else self._calls[: self._calls.index(self._refused) + 1]
        return [
            ToolCall(id=call.id or f"call_{uuid7()}", name=call.name, arguments="".join(call.parts)) for call in calls
        ]
