"""`toolgate.testing.Transcript`: the calls of a session with their results, saved, replayed and compared."""

from __future__ import annotations

import json
import os
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Literal, get_args

from pydantic import BaseModel, ConfigDict, ValidationError

from toolgate.protocol.calls import ToolCall, ToolResult
from toolgate.protocol.jsontext import encode
from toolgate.runtime.pending import PendingResult
from toolgate.runtime.toolset import CallableToolset

Field = Literal["status", "error_code", "output", "data"]
"""What of a result can be compared."""
_VERSION = 1
_FIELDS: tuple[Field, ...] = get_args(Field)
_COMPARED: tuple[Field, ...] = ("status", "error_code", "output")


class RecordedCall(BaseModel):
    """A call and what it answered."""

    model_config = ConfigDict(frozen=True, extra="forbid")

    name: str
    arguments: str
    """The JSON string, as it was written."""
    status: str
    error_code: str | None = None
    output: str
    """What the model read."""
    data: dict[str, Any]

    @classmethod
    def of(cls, name: str, arguments: str, result: ToolResult) -> RecordedCall:
        """A call and its result."""
        return cls(
            name=name,
            arguments=arguments,
            status=result.response.status.value,
            error_code=None if result.error_code is None else result.error_code.value,
            output=result.output,
            data=result.response.data,
        )


@dataclass(frozen=True, slots=True, kw_only=True)
class Difference:
    """One field of one result that is not what was recorded."""

    number: int
    """The call's number, from 1."""
    name: str
    field: Field
    recorded: Any
    replayed: Any

    def __str__(self) -> str:
        return f"call {self.number} ({self.name}): {self.field} was {self.recorded!r:.200}, is {self.replayed!r:.200}"


class Transcript:
    """The calls of a session in their order, with what they answered."""

    def __init__(self, calls: Iterable[RecordedCall] = ()) -> None:
        self._calls: list[RecordedCall | PendingResult] = list(calls)

    @property
    def calls(self) -> tuple[RecordedCall, ...]:
        """The calls that have ended."""
        for position, call in enumerate(self._calls):
            if isinstance(call, PendingResult) and call.done():
                self._calls[position] = RecordedCall.of(call.call.name, call.call.arguments, call.result())
        return tuple(call for call in self._calls if isinstance(call, RecordedCall))

    def recording(self, toolset: CallableToolset) -> CallableToolset:
        """Return the same toolset; whatever is called through it is kept here."""
        return _RecordingToolset(toolset, self._calls)

    @classmethod
    def of_events(cls, events: Iterable[object]) -> Transcript:
        """The calls among the events of an agent's turn."""
        from toolgate.agent.events import ToolCallInfo, ToolResultInfo

        calls, asked = list[RecordedCall](), dict[str, str]()
        for event in events:
            if isinstance(event, ToolCallInfo):
                given = event.arguments
                asked[event.call_id] = given if isinstance(given, str) else encode(given)
            elif isinstance(event, ToolResultInfo):
                calls.append(RecordedCall.of(event.tool_name, asked.get(event.call_id, "{}"), event.result))
        return cls(calls)

    def save(self, path: str | os.PathLike[str]) -> None:
        """Write it to a file, as JSON that reads well in a review."""
        document = {"transcript": _VERSION, "calls": [call.model_dump() for call in self.calls]}
        Path(path).write_text(json.dumps(document, ensure_ascii=False, indent=2) + "\n", encoding="utf-8")

    @classmethod
    def load(cls, path: str | os.PathLike[str]) -> Transcript:
        """Read what `save` wrote. Raises `ValueError` for any other file."""
        try:
            document = json.loads(Path(path).read_text(encoding="utf-8"))
            if not isinstance(document, dict) or document.get("transcript") != _VERSION:
                raise ValueError(f"it is not a transcript of version {_VERSION}")
            return cls([RecordedCall(**call) for call in document["calls"]])
        except ValidationError as error:
            why = f"a call is incomplete or has unknown fields ({error.error_count()} problems)"
        except (ValueError, TypeError, KeyError) as error:
            why = str(error)[:200]
        raise ValueError(f"{os.fspath(path)}: cannot be used: {why}. Record it again.")

    async def replay(
        self,
        toolset: CallableToolset,
        *,
        compare: Sequence[Field] = _COMPARED,
        normalise: Callable[[str], str] = str,
    ) -> list[Difference]:
        """Make the same calls, in the same order, and return what differs. `normalise` is applied to both outputs."""
        if wrong := [field for field in compare if field not in _FIELDS]:
            raise ValueError(f"compare takes {', '.join(_FIELDS)}, not {wrong[0]!r}")
        found: list[Difference] = []
        for number, before in enumerate(self.calls, start=1):
            call = ToolCall(id=f"replay-{number}", name=before.name, arguments=before.arguments)
            after = RecordedCall.of(before.name, before.arguments, await toolset.handle(call))
            found += _differences(number, before, after, compare, normalise)
        return found


class _RecordingToolset(CallableToolset):
    def __init__(self, toolset: CallableToolset, calls: list[RecordedCall | PendingResult]) -> None:
        super().__init__(toolset.registry, toolset.context)
        self._calls = calls

    def handle(self, call: ToolCall) -> PendingResult:
        """Handle one call, and keep it."""
        pending = super().handle(call)
        self._calls.append(pending)
        return pending


def _differences(
    number: int, before: RecordedCall, after: RecordedCall, compare: Sequence[Field], normalise: Callable[[str], str]
) -> list[Difference]:
    found = []
    for field in compare:
        recorded, replayed = getattr(before, field), getattr(after, field)
        if field == "output":
            recorded, replayed = normalise(recorded), normalise(replayed)
        if recorded != replayed:
            found.append(Difference(number=number, name=before.name, field=field, recorded=recorded, replayed=replayed))
    return found
