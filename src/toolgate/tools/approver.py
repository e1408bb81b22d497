"""Approvers as a program may write them: an object with `decide`, or a plain async function."""

from __future__ import annotations

import inspect
from collections.abc import Awaitable, Callable
from typing import TypeAlias

from toolgate.protocol.approval import Approval, ApprovalRequest
from toolgate.protocol.ports import Approver

ApproverFunction: TypeAlias = Callable[[ApprovalRequest], Awaitable[Approval | bool]]
AnyApprover: TypeAlias = Approver | ApproverFunction
"""What may be passed as `approver`."""

_WANTED = "an async function that takes the request and returns an Approval or a bool, or an object with async decide"


class FunctionApprover:
    """An async function as an approver. Its `True` is a yes, its `False` a no."""

    def __init__(self, function: ApproverFunction) -> None:
        self.function = function

    async def decide(self, request: ApprovalRequest) -> Approval:
        """Return the function's answer; the caller refuses what is no `Approval`."""
        answer = await self.function(request)
        return Approval(allowed=answer) if isinstance(answer, bool) else answer


def approver_of(approver: AnyApprover | None) -> Approver | None:
    """Return the approver; a function is wrapped. Raises `TypeError` for what can never answer."""
    if approver is None:
        return None
    decide = getattr(approver, "decide", None)
    if isinstance(approver, type) and decide is not None:
        raise TypeError(f"approver is the class {approver.__name__}: pass an instance of it")
    if decide is not None:
        if not callable(decide):
            raise TypeError(f"approver must be {_WANTED}; the decide of {type(approver).__name__} is not a method")
        return approver  # type: ignore[return-value]  # it has `decide`
    if not callable(approver) or isinstance(approver, type):
        raise TypeError(f"approver must be {_WANTED}, not {approver!r:.80}")
    called = getattr(approver, "__call__", approver)  # noqa: B004 - an object whose `__call__` is a coroutine function
    if not inspect.iscoroutinefunction(approver) and not inspect.iscoroutinefunction(called):
        name = getattr(approver, "__name__", type(approver).__name__)
        raise TypeError(f"approver must be {_WANTED}; {name} is not async: write `async def {name}(request)`")
    return FunctionApprover(approver)
