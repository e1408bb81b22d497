"""The question to a person: one sentence, the risk, labels, and nothing that hides."""

from pathlib import Path
from typing import Any

import pytest

from tests.kit import call
from toolgate import ApprovalRequest, Plan, ToolContext, ToolMode, Workspace, builtin_registry
from toolgate.runtime.question import labels_of, risk_of
from toolgate.testing import AutoApprover


async def asked(root: Path, tool: str, arguments: dict[str, Any]) -> ApprovalRequest:
    approver = AutoApprover(allow=False)
    context = ToolContext(workspace=Workspace(root), mode=ToolMode.coding, approver=approver)
    await builtin_registry().toolset(ToolMode.coding, context).handle(call(tool, arguments))
    await context.aclose()
    return approver.requests[0]


async def test_an_edit_is_a_low_risk_that_can_be_undone(tmp_path: Path) -> None:
    request = await asked(tmp_path, "write_file", {"path": "src/a.txt", "content": "x\n"})
    assert request.sentence == "Create 'src/a.txt' (+1 -0 lines). Undo can take it back."
    assert (request.risk, request.labels) == ("low", ("can be undone",))
    assert request.rule == request.choices[0].rule


async def test_a_removal_is_a_high_risk_with_its_reason_and_only_the_exact_call(tmp_path: Path) -> None:
    (tmp_path / "x").write_text("x")
    request = await asked(tmp_path, "Bash", {"command": "rm x"})
    assert request.risk == "high"
    assert any("removes" in label for label in request.labels)
    assert request.sentence.startswith("Runs this command.")
    assert [choice.id for choice in request.choices] == ["call"]


async def test_full_access_offers_nothing_to_remember(tmp_path: Path) -> None:
    request = await asked(tmp_path, "Bash", {"command": "ls", "access": "full"})
    assert (request.risk, request.choices, request.rule) == ("high", (), "")
    assert "full access" in request.labels


@pytest.mark.parametrize("name", ["a\u202eb.txt", "a\u200bb.txt", "a\x1b[31mb.txt"])
async def test_a07_a_name_that_cannot_be_shown_as_it_is_is_not_offered(tmp_path: Path, name: str) -> None:
    request = await asked(tmp_path, "write_file", {"path": f"src/{name}", "content": "x\n"})
    assert [choice.id for choice in request.choices if name[1] in choice.rule + choice.label] == []
    assert "file" not in {choice.id for choice in request.choices}
    shown = " ".join([request.sentence, request.summary, *request.labels, *(c.label for c in request.choices)])
    assert name[1] not in shown


def test_risk_and_labels_follow_the_plan() -> None:
    assert risk_of(Plan(summary="x", access="read")) == "low"
    assert risk_of(Plan(summary="x")) == "medium"
    assert risk_of(Plan(summary="x", asks=True)) == "high"
    assert risk_of(Plan(summary="x", unconfined=True)) == "high"
    long = Plan(summary="x", asks=True, reason=f"{'y' * 100}; it removes files", once="depends")
    assert labels_of(long) == ["asked every time", f"{'y' * 59}…", "it removes files"]
