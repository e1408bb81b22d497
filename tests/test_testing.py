"""What ships for other people's tests."""

import pytest

from toolgate import (
    Approval,
    ApprovalRequest,
    Approver,
)
from toolgate.protocol.ports import Clock, Recorder
from toolgate.protocol.record import CallRecord
from toolgate.testing import AutoApprover, FakeClock, MemoryRecorder

REQUEST = ApprovalRequest(id="r", tool_name="t", call_id="c", summary="s", detail="d", fingerprint="f")


async def test_the_auto_approver_allows_and_keeps_what_it_was_asked() -> None:
    approver = AutoApprover()
    assert await approver.decide(REQUEST) == Approval(allowed=True)
    assert approver.requests == [REQUEST]


async def test_the_auto_approver_says_no_with_a_message_or_remembers() -> None:
    assert await AutoApprover(allow=False, message="not now").decide(REQUEST) == Approval(
        allowed=False, message="not now"
    )
    assert (await AutoApprover(remember=True).decide(REQUEST)).remember


def test_the_fakes_are_what_they_stand_for() -> None:
    assert isinstance(AutoApprover(), Approver)
    assert isinstance(FakeClock(), Clock)
    assert isinstance(MemoryRecorder(), Recorder)


def test_the_fake_clock_moves_only_when_told() -> None:
    clock = FakeClock(100.0)
    assert (clock.monotonic(), clock.time()) == (0.0, 100.0)
    clock.advance(2.5)
    assert (clock.monotonic(), clock.time()) == (2.5, 102.5)


@pytest.mark.parametrize("seconds", [-1.0, float("nan")])
def test_the_fake_clock_does_not_go_backwards(seconds: float) -> None:
    with pytest.raises(ValueError, match="backwards"):
        FakeClock().advance(seconds)


async def test_the_recorder_keeps_records_in_order() -> None:
    recorder = MemoryRecorder()
    records = [CallRecord(kind=kind, session_id=None, call_id="c", tool_name="t") for kind in ("decision", "started")]
    for record in records:
        await recorder.record(record)
    assert recorder.records == records
