"""Calls that were answered although their tool still runs, and the answers to calls that were cut short."""

from __future__ import annotations

import asyncio
import json
from collections.abc import Callable
from typing import TYPE_CHECKING, Any

from toolgate.protocol.codes import ErrorCode
from toolgate.protocol.envelope import ToolResponse

if TYPE_CHECKING:
    from toolgate.runtime.invocation import Invocation

_UNKNOWN = {"outcome": "unknown", "still_running": True}
_LOOK_FIRST = "Do not make this call again before you know what it did; tell the user."


class Unfinished:
    """The calls of one session whose tool could not be stopped and may still run."""

    def __init__(self) -> None:
        self.running: dict[tuple[str, str], Callable[[], bool]] = {}
        """Tool and arguments of each, and whether it still runs."""

    def add(self, invocation: Invocation) -> None:
        """Remember a call for as long as its tool runs."""
        assert invocation.still_running is not None
        self.running[_key(invocation)] = invocation.still_running

    def refusal(self, invocation: Invocation) -> ToolResponse | None:
        """The answer to a call that is running already; None if it may run."""
        self.running = {key: still for key, still in self.running.items() if still()}
        if _key(invocation) not in self.running:
            return None
        return ToolResponse.failure(
            ErrorCode.CONFLICT,
            f"The same call of '{invocation.found.name}' is still running: it was cut short before, and could not be "
            "stopped. It was not started a second time.",
            data=_UNKNOWN,
            next_step="Wait until it has ended, and look at what it did before you make it again.",
        )


def _key(invocation: Invocation) -> tuple[str, str]:
    """The tool and its arguments; a default that is given counts like one that is not."""
    params: Any = invocation.params
    if invocation.found.foreign is None and params is not None:
        return invocation.found.name, str(sorted(vars(params).items()))
    return invocation.found.name, json.dumps(invocation.arguments, sort_keys=True)


def cut_short(invocation: Invocation, calls: Unfinished, code: ErrorCode, what: str, *, stopped: bool) -> ToolResponse:
    """The answer to a call whose tool had begun and was told to stop. `what` says why, without a full stop.

    `stopped` says that the tool has ended. It says nothing about what it had done until then, or about threads and
    tasks that it has started by itself.
    """
    declaration, data = invocation.declaration, invocation.context.cancelled_data
    if invocation.still_running is not None and invocation.still_running():
        if declaration.repeatable:
            text = f"{what}; it still runs in the background"
            return ToolResponse.failure(code, f"{text}.", data=data, next_step=_again(invocation))
        calls.add(invocation)
        invocation.uncertain = True
    elif stopped and declaration.repeatable:
        return ToolResponse.failure(code, f"{what}, and was stopped.", data=data, next_step=_again(invocation))
    elif stopped:
        step = "What it had done until then stays: look before you make the call again."
        return ToolResponse.failure(code, f"{what}. It was told to stop.", data=data, next_step=step)
    else:
        invocation.uncertain = not declaration.repeatable
    if not invocation.uncertain:
        return ToolResponse.failure(code, f"{what}, and did not stop.", data=data, next_step=_again(invocation))
    text = f"{what}. It could not be stopped: it is still running, outcome unknown."
    return ToolResponse.failure(code, text, data={**data, **_UNKNOWN}, next_step=_LOOK_FIRST)


def _again(invocation: Invocation) -> str:
    kind = "it changes nothing" if invocation.declaration.read_only else "running it twice is running it once"
    return f"It may be made again: {kind}."


def is_running(task: asyncio.Future[Any]) -> Callable[[], bool]:
    """Whether a task or future goes on."""
    return lambda: not task.done()
