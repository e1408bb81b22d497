"""Assembles tool calls from the fragments of a stream, with a limit on their size."""

from __future__ import annotations

from typing import Final

from toolgate.errors import ModelError
from toolgate.protocol.calls import ToolCall
from toolgate.protocol.ids import uuid7

MAX_ARGUMENTS_BYTES: Final = 1024 * 1024
"""Maximum bytes of one call's arguments. A larger call is refused."""
MAX_CALLS_BYTES: Final = 8 * 1024 * 1024
"""Maximum bytes of all calls in one response."""
MAX_CALLS: Final = 4096
"""Maximum number of calls in one response."""


def too_many_calls() -> ModelError:
    """The response contains too many calls."""
    return ModelError("MODEL_PROTOCOL", f"The model asked for more than {MAX_CALLS} tool calls at once.")


def too_large_calls() -> ModelError:
    """The calls of the response are too large together."""
    return ModelError(
        "MODEL_PROTOCOL", f"The tool calls of one response have more than {MAX_CALLS_BYTES} bytes of arguments."
    )


class _PartialCall:
    __slots__ = ("id", "name", "parts", "size")

    def __init__(self) -> None:
        self.id = self.name = ""
        self.parts: list[str] = []
        self.size = 0


class ToolCallAssembler:
    """Assembles calls, in the order in which they began."""

    def __init__(self) -> None:
        self._calls: list[_PartialCall] = []
        self._at: dict[int, _PartialCall] = {}
        self._size = 0
        self._refused: _PartialCall | None = None

    @property
    def refused(self) -> bool:
        """Whether a call exceeds `MAX_ARGUMENTS_BYTES`. The rest of the stream does not have to be read."""
        return self._refused is not None

    def add(
        self, index: int | None, *, call_id: str | None = None, name: str | None = None, text: str | None = None
    ) -> None:
        """Add one fragment of the call at `index`. Without an index the fragment belongs to the last call.

        Raises `ModelError` if there are too many calls or their total size is too large.
        """
        call = self._at.get(index) if index is not None else (self._calls[-1] if self._calls else None)
        if call is None or (call_id and call.id not in ("", call_id)):  # some servers send index 0 for every call
            if len(self._calls) == MAX_CALLS:
                raise too_many_calls()
            call = _PartialCall()
            self._calls.append(call)
        if index is not None:
            self._at[index] = call
        call.id = call.id or call_id or ""
        call.name = call.name or name or ""
        if text:
            self._add_text(call, text)

    def _add_text(self, call: _PartialCall, text: str) -> None:
        size = len(text) if text.isascii() else len(text.encode("utf-8", "surrogatepass"))
        call.parts.append(text)
        call.size += size
        self._size += size
        if call.size > MAX_ARGUMENTS_BYTES:
            self._refused = call
        elif self._size > MAX_CALLS_BYTES:
            raise too_large_calls()

    def finished(self) -> list[ToolCall]:
        """Return all calls. A call without an id gets one; a call without a name is answered as an unknown tool.

        A refused call is returned as far as it was received. Calls that began after it are left out, because they may
        be incomplete.
        """
        calls = self._calls if self._refused is None else self._calls[: self._calls.index(self._refused) + 1]
        return [
            ToolCall(id=call.id or f"call_{uuid7()}", name=call.name, arguments="".join(call.parts)) for call in calls
        ]
