"""Approvers: an object with `decide`, or a plain async function."""

import functools
from pathlib import Path
from typing import Any

import pytest

import toolgate
from toolgate import Approval, ApprovalRequest, ToolContext
from toolgate.testing import AutoApprover
from toolgate.tools.approver import FunctionApprover, approver_of

REQUEST = ApprovalRequest(id="1", tool_name="launch", call_id="c", summary="s", detail="", fingerprint="f")


async def yes(request: ApprovalRequest) -> bool:
    return request.tool_name == "launch"


async def politely(request: ApprovalRequest, words: str) -> Approval:
    return Approval(allowed=False, message=words)


class Asker:
    async def __call__(self, request: ApprovalRequest) -> bool:
        return False


def sync(request: ApprovalRequest) -> bool:
    return True


async def test_true_of_a_function_is_a_yes() -> None:
    approver = approver_of(yes)
    assert approver is not None
    assert await approver.decide(REQUEST) == Approval(allowed=True)


async def test_a_partial_function_and_an_object_that_is_called_are_approvers_too() -> None:
    partial, asker = approver_of(functools.partial(politely, words="no")), approver_of(Asker())
    assert partial is not None
    assert asker is not None
    assert await partial.decide(REQUEST) == Approval(allowed=False, message="no")
    assert await asker.decide(REQUEST) == Approval(allowed=False)


def test_an_object_with_decide_is_taken_as_it_is() -> None:
    approver = AutoApprover()
    assert approver_of(approver) is approver
    assert approver_of(None) is None


class Odd:
    decide = "later"


@pytest.mark.parametrize(
    ("wrong", "said"),
    [
        (sync, "sync is not async: write `async def sync(request)`"),
        (AutoApprover, "the class AutoApprover: pass an instance"),
        (Odd(), "the decide of Odd is not a method"),
        ("ask", "not 'ask'"),
        (True, "not True"),
        (Asker, "not <class"),
    ],
)
def test_what_can_never_answer_is_refused_at_the_start(wrong: Any, said: str) -> None:
    with pytest.raises(TypeError) as refused:
        ToolContext(approver=wrong)
    assert said in str(refused.value)
    assert str(refused.value).startswith("approver ")


async def test_open_and_a_call_use_the_function(tmp_path: Path) -> None:
    asked: list[str] = []

    async def ask(request: ApprovalRequest) -> bool:
        asked.append(request.summary)
        return True

    async with toolgate.open(tmp_path, "coding", ask) as toolset:
        assert isinstance(toolset.context.approver, FunctionApprover)
        result = await toolset.call("write_file", path="a.txt", content="a\n")
    assert result.error_code is None
    assert asked == ["Create 'a.txt' (+1 -0 lines)"]
    assert (tmp_path / "a.txt").read_text() == "a\n"


@pytest.mark.parametrize("answer", ["yes", 1, None])
async def test_any_other_answer_of_a_function_is_a_no(tmp_path: Path, answer: Any) -> None:
    async def ask(request: ApprovalRequest) -> bool:
        return answer  # type: ignore[no-any-return]  # what is tested

    async with toolgate.open(tmp_path, "coding", ask) as toolset:
        result = await toolset.call("write_file", path="a.txt", content="a\n")
    assert result.error_code == "APPROVAL_DENIED"
    assert not (tmp_path / "a.txt").exists()


async def test_an_approver_that_raises_is_a_no(tmp_path: Path, caplog: pytest.LogCaptureFixture) -> None:
    async def ask(request: ApprovalRequest) -> bool:
        raise LookupError("the window is gone")

    async with toolgate.open(tmp_path, "coding", ask) as toolset:
        result = await toolset.call("write_file", path="a.txt", content="a\n")
    assert result.error_code == "APPROVAL_DENIED"
    assert "the question could not be asked" in result.message
    assert "approver_failed" in caplog.text
    assert "LookupError: the window is gone" in caplog.text
