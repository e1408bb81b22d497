"""`DeferredApprover`: open requests, and their answers from anywhere."""

import asyncio
from pathlib import Path
from typing import Any

import pytest

import toolgate
from tests.kit import code_of
from toolgate import Approval, ApprovalRequest, CallableToolset, DeferredApprover

WRITE = {"path": "a.txt", "content": "a\n"}


async def opened(approver: DeferredApprover) -> ApprovalRequest:
    while not approver.pending:
        await asyncio.sleep(0)
    return approver.pending[0]


def writing(toolset: CallableToolset) -> Any:
    return toolset.call("write_file", **WRITE)


async def test_a_request_is_open_until_it_is_answered(tmp_path: Path) -> None:
    told: list[ApprovalRequest] = []
    approver = DeferredApprover(on_request=told.append)
    async with toolgate.open(tmp_path, "coding", approver, session_id="s1") as toolset:
        pending = writing(toolset)
        request = await opened(approver)
        assert (request.tool_name, request.session_id) == ("write_file", "s1")
        assert (told, approver.get(request.id)) == ([request], request)
        assert not (tmp_path / "a.txt").exists()
        approver.answer(request.id, True)
        assert code_of(await pending) is None
    assert (tmp_path / "a.txt").read_text() == "a\n"
    assert approver.pending == ()


async def test_a_no_carries_its_message_to_the_model(tmp_path: Path) -> None:
    approver = DeferredApprover()
    async with toolgate.open(tmp_path, "coding", approver) as toolset:
        pending = writing(toolset)
        approver.answer((await opened(approver)).id, False, "not before the release")
        assert "not before the release" in (await pending).output


async def test_an_answer_may_have_a_rule_remembered(tmp_path: Path) -> None:
    approver = DeferredApprover()
    async with toolgate.open(tmp_path, "coding", approver) as toolset:
        pending = writing(toolset)
        request = await opened(approver)
        folder = request.choices[-1]
        approver.answer(request.id, Approval(allowed=True, remember=True, choice=folder.id))
        assert code_of(await pending) is None
        assert code_of(await toolset.call("write_file", path="a.txt", content="b\n")) is None
    assert (tmp_path / "a.txt").read_text() == "b\n"


async def test_the_first_answer_counts_and_the_second_is_told_so(tmp_path: Path) -> None:
    approver = DeferredApprover()
    async with toolgate.open(tmp_path, "coding", approver) as toolset:
        pending = writing(toolset)
        request = await opened(approver)
        approver.answer(request.id, False)
        with pytest.raises(LookupError, match="look at `pending` again"):
            approver.answer(request.id, True)
        assert code_of(await pending) == "APPROVAL_DENIED"


async def test_an_answer_from_another_thread_counts(tmp_path: Path) -> None:
    approver = DeferredApprover()
    async with toolgate.open(tmp_path, "coding", approver) as toolset:
        pending = writing(toolset)
        request = await opened(approver)
        await asyncio.to_thread(approver.answer, request.id, True)
        assert code_of(await pending) is None


async def test_a_cancelled_call_takes_its_request_back(tmp_path: Path) -> None:
    approver = DeferredApprover()
    async with toolgate.open(tmp_path, "coding", approver) as toolset:
        pending = writing(toolset)
        await opened(approver)
        pending.cancel()
        assert code_of(await pending) == "CANCELLED"
    assert approver.pending == ()


async def test_nobody_in_time_is_a_no(tmp_path: Path) -> None:
    approver = DeferredApprover(timeout=0.01)
    async with toolgate.open(tmp_path, "coding", approver) as toolset:
        result = await writing(toolset)
    assert "nobody answered in time" in result.message
    assert approver.pending == ()


async def test_a_listener_that_raises_does_not_close_the_request(
    tmp_path: Path, caplog: pytest.LogCaptureFixture
) -> None:
    def broken(request: ApprovalRequest) -> None:
        raise RuntimeError("no such channel")

    approver = DeferredApprover(on_request=broken)
    async with toolgate.open(tmp_path, "coding", approver) as toolset:
        pending = writing(toolset)
        approver.answer((await opened(approver)).id, True)
        assert code_of(await pending) is None
    assert "on_request_failed" in caplog.text


@pytest.mark.parametrize("timeout", [0, -1, float("nan")])
def test_a_timeout_that_is_none_is_refused(timeout: float) -> None:
    with pytest.raises(ValueError, match="seconds above 0"):
        DeferredApprover(timeout=timeout)


@pytest.mark.parametrize("answer", [None, "yes", 1])
async def test_an_answer_that_is_none_leaves_the_request_open(tmp_path: Path, answer: Any) -> None:
    approver = DeferredApprover()
    async with toolgate.open(tmp_path, "coding", approver) as toolset:
        pending = writing(toolset)
        request = await opened(approver)
        with pytest.raises(TypeError, match="True or False"):
            approver.answer(request.id, answer)
        assert approver.pending == (request,)
        pending.cancel()
        await pending
