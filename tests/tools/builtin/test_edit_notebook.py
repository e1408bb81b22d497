"""`edit_notebook`."""

import json
from pathlib import Path

import pytest

from tests.support.toolbox import Toolbox
from tests.workspace.test_notebook_text import notebook
from toolgate import ErrorCode, Status
from toolgate.testing import AutoApprover
from toolgate.workspace.undo import undo


@pytest.fixture
def tools(tmp_path: Path) -> Toolbox:
    (tmp_path / "a.ipynb").write_text(json.dumps(notebook(), indent=1))
    return Toolbox(tmp_path)


async def test_a_cell_is_replaced_and_its_outputs_are_cleared(tools: Toolbox) -> None:
    await tools("read_file", path="a.ipynb")
    result = await tools.result("edit_notebook", path="a.ipynb", cell=0, source="b = 2\n")
    assert result.output.startswith(
        "Edit 'a.ipynb': replace cell 0, clear its 1 outputs. The notebook now has 3 cells.\n--- a/a.ipynb (cell 0)"
    )
    assert "-a = 0\n" in result.response.data["diff"]
    assert "+b = 2\n" in result.response.data["diff"]
    first = json.loads((tools.root / "a.ipynb").read_text())["cells"][0]
    assert (first["source"], first["outputs"], first["execution_count"]) == (["b = 2\n"], [], None)
    (request,) = tools.approver.requests
    assert request.summary == "Edit 'a.ipynb': replace cell 0, clear its 1 outputs"
    assert "+b = 2" in request.detail


async def test_insert_and_delete_take_each_other_back(tools: Toolbox) -> None:
    before = (tools.root / "a.ipynb").read_bytes()
    inserted = await tools("edit_notebook", path="a.ipynb", cell=3, action="insert", source="x", cell_type="raw")
    deleted = await tools("edit_notebook", path="a.ipynb", cell=3, action="delete")
    assert [response.data["cells"] for response in (inserted, deleted)] == [4, 3]
    assert (tools.root / "a.ipynb").read_bytes() == before


async def test_undo_takes_the_change_back(tools: Toolbox) -> None:
    before = (tools.root / "a.ipynb").read_bytes()
    await tools("edit_notebook", path="a.ipynb", cell=1, action="delete")
    assert (tools.root / "a.ipynb").read_bytes() != before
    undo(tools.context.require_workspace(), session_id="s")
    assert (tools.root / "a.ipynb").read_bytes() == before


async def test_a_dry_run_changes_and_asks_nothing(tools: Toolbox) -> None:
    before = (tools.root / "a.ipynb").read_bytes()
    response = await tools("edit_notebook", path="a.ipynb", cell=0, source="x", dry_run=True)
    assert (response.status, response.data["applied"]) == (Status.partial, False)
    assert tools.approver.requests == []
    assert (tools.root / "a.ipynb").read_bytes() == before


async def test_a_notebook_that_changed_since_it_was_read_is_a_conflict(tools: Toolbox) -> None:
    await tools("read_file", path="a.ipynb")
    (tools.root / "a.ipynb").write_text(json.dumps(notebook(2)))
    response = await tools("edit_notebook", path="a.ipynb", cell=0, action="delete")
    assert response.error is not None
    assert response.error.code is ErrorCode.CONFLICT
    assert json.loads((tools.root / "a.ipynb").read_text()) == notebook(2)


async def test_a_denial_changes_nothing(tmp_path: Path) -> None:
    tools = Toolbox(tmp_path, approver=AutoApprover(allow=False))
    (tmp_path / "a.ipynb").write_text(json.dumps(notebook()))
    response = await tools("edit_notebook", path="a.ipynb", cell=0, action="delete")
    assert response.error is not None
    assert response.error.code is ErrorCode.APPROVAL_DENIED
    assert json.loads((tmp_path / "a.ipynb").read_text()) == notebook()


@pytest.mark.parametrize(
    ("arguments", "code"),
    [
        ({"cell": 9, "source": "x"}, "INVALID_PARAM"),
        ({"cell": 0}, "INVALID_PARAM"),
        ({"cell": 0, "action": "delete", "source": "x"}, "INVALID_PARAM"),
        ({"cell": -1, "source": "x"}, "INVALID_PARAM"),
        ({"cell": 0, "source": "x", "path": "missing.ipynb"}, "NOT_FOUND"),
        ({"cell": 0, "source": "x", "path": "text.ipynb"}, "EXECUTION_ERROR"),
        ({"cell": 0, "source": "x", "path": "deep.ipynb"}, "EXECUTION_ERROR"),
        ({"cell": 0, "source": "x", "path": "../a.ipynb"}, "ACCESS_DENIED"),
        ({"cell": 0, "source": "x", "path": ".git/config"}, "ACCESS_DENIED"),
        ({"cell": 0, "source": "x", "path": "binary.ipynb"}, "BINARY_FILE"),
    ],
)
async def test_what_cannot_be_done_changes_nothing(tools: Toolbox, arguments: dict[str, object], code: str) -> None:
    (tools.root / "text.ipynb").write_text("no notebook")
    (tools.root / "deep.ipynb").write_text('{"cells": ' + "[" * 100_000)
    (tools.root / "binary.ipynb").write_bytes(b"\0" * 50)
    before = {path.name: path.read_bytes() for path in tools.root.iterdir() if path.is_file()}
    response = await tools("edit_notebook", **{"path": "a.ipynb", **arguments})
    assert response.error is not None
    assert response.error.code.value == code
    assert {path.name: path.read_bytes() for path in tools.root.iterdir() if path.is_file()} == before


async def test_a_notebook_of_the_format_before_is_read_but_not_changed(tools: Toolbox) -> None:
    cell = {"cell_type": "code", "input": ["f()"], "outputs": []}
    old = json.dumps({"nbformat": 3, "nbformat_minor": 0, "metadata": {}, "worksheets": [{"cells": [cell]}]})
    (tools.root / "old.ipynb").write_text(old)
    read = await tools.result("read_file", path="old.ipynb")
    edited = await tools.result("edit_notebook", path="old.ipynb", cell=0, source="g()")

    assert "--- cell 0 (code) ---" in read.output
    assert "of 1 cell, which" in read.output
    assert edited.error_code == "EXECUTION_ERROR"
    assert "a format before nbformat 4" in edited.output
    assert (tools.root / "old.ipynb").read_text() == old
