"""The text of a notebook: changes one cell and leaves every character outside of it as it is."""

from __future__ import annotations

import json
import os
import re
from dataclasses import dataclass
from typing import Any, Literal

from toolgate.errors import ToolError
from toolgate.protocol.codes import ErrorCode
from toolgate.workspace.json_spans import JsonSpan, elements, members, value_at

CellType = Literal["code", "markdown", "raw"]
Action = Literal["replace", "insert", "delete"]


@dataclass(frozen=True, slots=True, kw_only=True)
class CellEdit:
    """What to do with which cell."""

    action: Action
    cell: int
    """Counts from 0; a new cell is inserted before it."""
    source: str = ""
    cell_type: CellType | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class EditedText:
    """A notebook after a change."""

    text: str
    old: str
    """The source of the cell before the change."""
    new: str
    cells: int
    """How many cells there are now."""
    summary: str


class OldNotebook(ValueError):
    """The notebook has version 3 of the format or an older one."""


class NotebookText:
    """Where the cells are in the text. Raises `ValueError` if it is not that of a notebook."""

    def __init__(self, text: str) -> None:
        self._text = text
        self._cells: list[tuple[int, int]] = []
        self._start = -1
        versions: dict[str, Any] = {}
        for key, value in members(text, 0, self._read):
            if key in ("nbformat", "nbformat_minor"):
                versions[key] = value.value
            elif key == "worksheets":
                raise OldNotebook("cells in worksheets")
        if self._start < 0 or not all(isinstance(number, int) for number in versions.values()):
            raise ValueError("no list of cells")
        self._has_ids = (versions.get("nbformat", 4), versions.get("nbformat_minor", 0)) >= (4, 5)

    def _read(self, text: str, position: int, key: str) -> JsonSpan:
        """Read a member of the notebook; of the cells, only where they are."""
        if key != "cells":
            return value_at(text, position)
        self._start, end = position, position + 1
        self._cells = []
        for cell in elements(text, position):
            self._cells.append((cell.start, cell.end))
            end = cell.end
        return JsonSpan(None, position, text.index("]", end) + 1)

    def edited(self, edit: CellEdit) -> EditedText:
        """Make one change. Raises `ToolError` if there is no such cell."""
        count = len(self._cells)
        limit = count if edit.action == "insert" else count - 1
        if not 0 <= edit.cell <= limit:
            raise ToolError(
                ErrorCode.INVALID_PARAM,
                f"There is no cell {edit.cell}: the notebook has {count} cells, which count from 0.",
                "Read it again with 'read_file'." if limit >= 0 else "Insert a cell at 0.",
            )
        made: EditedText = getattr(self, f"_{edit.action}")(edit)
        NotebookText(made.text)  # what is written must be a notebook
        return made

    def _replace(self, edit: CellEdit) -> EditedText:
        start, end = self._cells[edit.cell]
        cell = self._cell(edit.cell)
        kind = edit.cell_type or cell["cell_type"]
        outputs = cell.get("outputs") or []
        if kind == cell["cell_type"]:
            new = self._with_source(start, cell, edit.source)
        else:
            kept = {key: value for key, value in cell.items() if key not in ("outputs", "execution_count")}
            new = self._dumped(_cell_of(kind, edit.source, kept), start)
        cleared = f", clear its {len(outputs)} outputs" if outputs else ""
        turned = f", make it {kind}" if kind != cell["cell_type"] else ""
        return EditedText(
            text=self._text[:start] + new + self._text[end:],
            old=joined(cell.get("source")),
            new=edit.source,
            cells=len(self._cells),
            summary=f"replace cell {edit.cell}{turned}{cleared}",
        )

    def _insert(self, edit: CellEdit) -> EditedText:
        kept = {"id": os.urandom(4).hex()} if self._has_ids else {}
        kind = edit.cell_type or "code"
        text, cells = self._text, self._cells
        if edit.cell < len(cells):
            place = cells[edit.cell][0]
            new = self._dumped(_cell_of(kind, edit.source, kept), place) + "," + self._between()
        elif cells:
            first, place = cells[-1]
            new = "," + self._between() + self._dumped(_cell_of(kind, edit.source, kept), first)
        else:
            place = self._start + 1
            new = json.dumps(_cell_of(kind, edit.source, kept), ensure_ascii=False)
        return EditedText(
            text=text[:place] + new + text[place:],
            old="",
            new=edit.source,
            cells=len(cells) + 1,
            summary=f"insert a {kind} cell at {edit.cell}",
        )

    def _delete(self, edit: CellEdit) -> EditedText:
        cells, number = self._cells, edit.cell
        cell = self._cell(number)
        start, end = cells[number]
        if number + 1 < len(cells):
            end = cells[number + 1][0]
        elif number > 0:
            start = cells[number - 1][1]
        return EditedText(
            text=self._text[:start] + self._text[end:],
            old=joined(cell.get("source")),
            new="",
            cells=len(cells) - 1,
            summary=f"delete cell {number}",
        )

    def _cell(self, number: int) -> dict[str, Any]:
        cell = value_at(self._text, self._cells[number][0]).value
        if not isinstance(cell, dict) or cell.get("cell_type") not in ("code", "markdown", "raw"):
            raise ValueError(f"cell {number} is none")
        return cell

    def _with_source(self, start: int, cell: dict[str, Any], source: str) -> str:
        """The cell's text with another source; what the old one printed goes."""
        values: dict[str, Any] = {"source": _lines(source) if isinstance(cell.get("source"), list) else source}
        if cell["cell_type"] == "code":
            values |= {"outputs": [], "execution_count": None}
        pieces, position = [], start
        for key, span in members(self._text, start):
            if key in values and values[key] != span.value:
                pieces += [self._text[position : span.start], self._dumped(values[key], span.start)]
                position = span.end
        end = next(end for first, end in self._cells if first == start)
        return "".join([*pieces, self._text[position:end]])

    def _dumped(self, value: Any, place: int) -> str:
        """A value as text, in the style of its surroundings."""
        ascii_only = self._text.isascii() and "\\u" in self._text
        gap = self._gap(place)
        line = self._text.rfind("\n", 0, place) + 1
        margin = re.match(r"[ \t]*", self._text[line:place])
        if "\n" not in self._gap(self._cells[0][0] if self._cells else place):
            spaced = re.search(r'"\s*:( ?)', self._text)
            colon = ": " if spaced and spaced[1] else ":"
            return json.dumps(value, ensure_ascii=ascii_only, separators=(", " if colon == ": " else ",", colon))
        text = json.dumps(value, ensure_ascii=ascii_only, indent=self._indent())
        newline = "\r\n" if "\r\n" in gap or "\r\n" in self._text[:4096] else "\n"
        return text.replace("\n", newline + (margin[0] if margin else ""))

    def _gap(self, place: int) -> str:
        """The space before a place."""
        begin = place
        while begin > 0 and self._text[begin - 1] in " \t\r\n":
            begin -= 1
        return self._text[begin:place]

    def _between(self) -> str:
        """The space between two cells."""
        return self._gap(self._cells[1][0] if len(self._cells) > 1 else self._cells[0][0])

    def _indent(self) -> str:
        """What one level is indented by: the space before the first key of the notebook."""
        match = re.match(r"\s*\{[\r\n]*([ \t]+)", self._text)
        return match[1] if match else " "


def _cell_of(kind: str, source: str, kept: dict[str, Any]) -> dict[str, Any]:
    """A cell, with its keys in the order in which every program writes them."""
    code: dict[str, Any] = {"execution_count": None, "outputs": []} if kind == "code" else {}
    cell = {"metadata": {}, **kept, "cell_type": kind, **code, "source": _lines(source)}
    return {key: cell[key] for key in sorted(cell)}


def _lines(source: str) -> list[str]:
    return re.findall(r"[^\n]*\n|[^\n]+", source)


def joined(source: Any) -> str:
    """The source of a cell, which may be a list of lines."""
    return "".join(map(str, source)) if isinstance(source, list) else str(source or "")
