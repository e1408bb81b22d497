"""One cell changes, and every character outside of it stays."""

import json
from typing import Any

import pytest

from toolgate.errors import ToolError
from toolgate.workspace.notebook_text import CellEdit, NotebookText


def cell(number: int, kind: str = "code") -> dict[str, Any]:
    made: dict[str, Any] = {"cell_type": kind, "id": f"id{number}", "metadata": {"n": [number]}}
    if kind == "code":
        made |= {"execution_count": number, "outputs": [{"output_type": "stream", "text": ["x\n"]}]}
    return {**made, "source": [f"a = {number}\n", "é"]}


def notebook(count: int = 3, minor: int = 5) -> dict[str, Any]:
    cells = [cell(number, "markdown" if number == 1 else "code") for number in range(count)]
    return {"cells": cells, "metadata": {"k": "v"}, "nbformat": 4, "nbformat_minor": minor}


STYLES = [
    {"indent": 1, "ensure_ascii": False},
    {"indent": 2},
    {"indent": "\t", "ensure_ascii": False},
    {},
    {"separators": (",", ":")},
]


@pytest.mark.parametrize("style", STYLES)
@pytest.mark.parametrize("newline", ["\n", "\r\n"])
@pytest.mark.parametrize("number", [0, 1, 2])
def test_a_replaced_source_is_all_that_changes(style: dict[str, Any], newline: str, number: int) -> None:
    text = (json.dumps(notebook(), **style) + "\n").replace("\n", newline)
    made = NotebookText(text).edited(CellEdit(action="replace", cell=number, source="b = 1\nb"))
    wanted = notebook()
    wanted["cells"][number]["source"] = ["b = 1\n", "b"]
    if number != 1:
        wanted["cells"][number] |= {"outputs": [], "execution_count": None}
    assert made.text == (json.dumps(wanted, **style) + "\n").replace("\n", newline)
    assert (made.old, made.new, made.cells) == (f"a = {number}\né", "b = 1\nb", 3)


@pytest.mark.parametrize("style", STYLES)
@pytest.mark.parametrize("number", [0, 1, 2])
def test_a_deleted_cell_takes_only_itself(style: dict[str, Any], number: int) -> None:
    text = json.dumps(notebook(), **style)
    wanted = notebook()
    del wanted["cells"][number]
    assert NotebookText(text).edited(CellEdit(action="delete", cell=number)).text == json.dumps(wanted, **style)


@pytest.mark.parametrize("style", STYLES)
@pytest.mark.parametrize("number", [0, 1, 3])
def test_an_inserted_cell_has_the_style_of_the_others(style: dict[str, Any], number: int) -> None:
    text = json.dumps(notebook(), **style)
    made = NotebookText(text).edited(CellEdit(action="insert", cell=number, source="new", cell_type="markdown"))
    wanted = notebook()
    new = json.loads(made.text)["cells"][number]
    wanted["cells"].insert(number, new)
    assert made.text == json.dumps(wanted, **style)
    assert (new["cell_type"], new["source"], set(new)) == (
        "markdown",
        ["new"],
        {"cell_type", "id", "metadata", "source"},
    )


def test_the_first_cell_of_an_empty_notebook() -> None:
    text = json.dumps(notebook(0, 4), indent=1)
    made = NotebookText(text).edited(CellEdit(action="insert", cell=0, source="x"))
    assert json.loads(made.text)["cells"] == [
        {"cell_type": "code", "execution_count": None, "metadata": {}, "outputs": [], "source": ["x"]}
    ]


def test_the_last_cell_that_goes_leaves_an_empty_list() -> None:
    made = NotebookText(json.dumps(notebook(1), indent=1)).edited(CellEdit(action="delete", cell=0))
    assert json.loads(made.text)["cells"] == []


def test_a_cell_of_another_type_keeps_its_id_and_metadata() -> None:
    text = json.dumps(notebook(), indent=1)
    made = NotebookText(text).edited(CellEdit(action="replace", cell=0, source="# T", cell_type="markdown"))
    assert json.loads(made.text)["cells"][0] == {
        "cell_type": "markdown", "id": "id0", "metadata": {"n": [0]}, "source": ["# T"]
    }  # fmt: skip
    assert made.summary == "replace cell 0, make it markdown, clear its 1 outputs"


def test_a_source_that_is_a_string_stays_one() -> None:
    document = notebook(1)
    document["cells"][0]["source"] = "a"
    made = NotebookText(json.dumps(document)).edited(CellEdit(action="replace", cell=0, source="x\ny"))
    assert json.loads(made.text)["cells"][0]["source"] == "x\ny"


@pytest.mark.parametrize(("action", "number"), [("replace", 3), ("delete", 3), ("insert", 4), ("delete", -1)])
def test_a_cell_that_is_not_there(action: Any, number: int) -> None:
    with pytest.raises(ToolError, match="the notebook has 3 cells"):
        NotebookText(json.dumps(notebook())).edited(CellEdit(action=action, cell=number))


@pytest.mark.parametrize("text", ["", "[]", "{}", '{"cells": {}}', '{"cells": [1,]}', '{"cells": [], "nbformat": "4"}'])
def test_what_is_no_notebook(text: str) -> None:
    with pytest.raises(ValueError):
        NotebookText(text)
