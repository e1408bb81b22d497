"""Notebooks: cells with outputs."""

import base64
import json
from pathlib import Path
from typing import Any

import pytest

from tests.documents.test_images import opened
from tests.support.pictures import png, write
from toolgate.documents.notebook import Notebook, read_notebook
from toolgate.errors import ToolError
from toolgate.workspace import Stop


def code(source: str | list[str], *outputs: dict[str, Any]) -> dict[str, Any]:
    return {"cell_type": "code", "execution_count": 7, "metadata": {}, "source": source, "outputs": list(outputs)}


def notebook(*cells: Any) -> bytes:
    document = {"nbformat": 4, "nbformat_minor": 5, "metadata": {"language_info": {"name": "python"}}, "cells": cells}
    return json.dumps(document, indent=1).encode()


def read(tmp_path: Path, data: bytes) -> Notebook:
    with opened(write(tmp_path / "a.ipynb", data)) as fd:
        return read_notebook(Stop(), fd, "a.ipynb")


def test_cells_with_their_outputs(tmp_path: Path) -> None:
    shown = {"output_type": "display_data", "data": {"image/png": base64.b64encode(png()).decode(), "text/plain": "x"}}
    printed = {"output_type": "stream", "name": "stdout", "text": ["\x1b[31mone\x1b[0m\n", "two\n"]}
    failed = {"output_type": "error", "ename": "E", "evalue": "v", "traceback": ["Traceback", "E: v"]}
    valued = {"output_type": "execute_result", "data": {"text/plain": ["4", "2"], "text/html": "<b>42</b>"}}
    markdown = {"cell_type": "markdown", "metadata": {}, "source": ["# Title\n", "text"]}
    found = read(tmp_path, notebook(markdown, code(["print(1)\n", "2"], printed, shown, failed, valued)))

    assert "\n".join(found.lines) == (
        "--- cell 0 (markdown) ---\n# Title\ntext\n--- cell 1 (code, run 7) ---\nprint(1)\n2\n[output]\none\ntwo\n"
        "[output: a picture, image/png]\n[error]\nTraceback\nE: v\n[output]\n42"
    )
    assert (found.cells, found.language, found.complete) == (2, "python", True)
    assert [(image.name, image.data) for image in found.images] == [("a.ipynb, cell 1", png())]


def test_a_million_outputs_are_counted_and_not_shown(tmp_path: Path) -> None:
    outputs = [{"output_type": "stream", "text": "x"}] * 1_000_000
    found = read(tmp_path, notebook(code("loop()", *outputs)))
    assert found.lines[-1] == "[999980 more outputs]"
    assert len(found.lines) == 43


def test_a_long_output_loses_its_middle(tmp_path: Path) -> None:
    found = read(tmp_path, notebook(code("x", {"output_type": "stream", "text": "y" * 9000})))
    assert "[… 5000 characters …]" in found.lines


def test_pictures_that_are_none_are_named_only(tmp_path: Path) -> None:
    wrong = {"output_type": "display_data", "data": {"image/png": base64.b64encode(b"no").decode()}}
    found = read(tmp_path, notebook(code("x", wrong)))
    assert found.images == ()
    assert "[output: a picture, image/png]" in found.lines


@pytest.mark.parametrize(
    "data", [b"", b"{", b"[]", b'{"cells": 1}', b"[" * 200_000, b'{"cells": ' + b"[" * 100_000, b"\xff\xfe"]
)
def test_a_file_that_is_no_notebook(tmp_path: Path, data: bytes) -> None:
    with pytest.raises(ToolError, match="is not a notebook"):
        read(tmp_path, data)


@pytest.mark.parametrize("cell", [1, "x", None, {}, {"source": 3, "outputs": {}}, {"outputs": [1, {"data": 3}]}])
def test_cells_that_are_none_do_no_harm(tmp_path: Path, cell: Any) -> None:
    assert read(tmp_path, notebook(cell, code("ok"))).lines[-1] == "ok"


def test_cells_of_the_format_before_are_read(tmp_path: Path) -> None:
    outputs = [
        {"output_type": "stream", "stream": "stdout", "text": ["1\n"]},
        {"output_type": "pyout", "prompt_number": 1, "text": ["42"], "html": "<b>42</b>"},
        {"output_type": "display_data", "png": base64.b64encode(png()).decode(), "text": "<Figure>"},
        {"output_type": "pyerr", "ename": "E", "evalue": "v", "traceback": ["E: v"]},
    ]
    cell = {"cell_type": "code", "language": "python", "input": ["f()"], "prompt_number": 1, "outputs": outputs}
    heading = {"cell_type": "heading", "level": 1, "source": ["Title"]}
    document = {"nbformat": 3, "nbformat_minor": 0, "metadata": {}, "worksheets": [{"cells": [heading, cell]}, 5]}
    found = read(tmp_path, json.dumps(document).encode())

    assert "\n".join(found.lines) == (
        "--- cell 0 (heading) ---\nTitle\n--- cell 1 (code, run 1) ---\nf()\n[output]\n1\n[output]\n42\n"
        "[output: a picture, image/png]\n[error]\nE: v"
    )
    assert (found.cells, found.complete, len(found.images)) == (2, True, 1)


def test_what_is_no_cell_is_named(tmp_path: Path) -> None:
    found = read(tmp_path, notebook(1, None, code("x")))

    assert found.lines[:2] == ("--- cell 0 (no cell) ---", "--- cell 1 (no cell) ---")
    assert found.complete
