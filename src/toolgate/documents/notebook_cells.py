"""The task `notebook`: the cells of a notebook as text, and the pictures among their outputs. Runs in the worker."""

from __future__ import annotations

import base64
import json
import os
import re

from toolgate.documents.worker import Refused, answer

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any

_MAX_OUTPUTS = 20
"""Outputs that are shown of one cell."""
_MAX_OUTPUT = 4_000
_MAX_SOURCE = 100_000
_ESCAPES = re.compile("\x1b\\[[0-9;?]*[A-Za-z]")
_TEXTS = ("text/markdown", "text/plain", "text/latex", "application/json", "text/html")
_OLD_TYPES = {
    "png": "image/png",
    "jpeg": "image/jpeg",
    "text": "text/plain",
    "html": "text/html",
    "latex": "text/latex",
    "svg": "image/svg+xml",
}
"""What version 3 of the format calls the types of an output."""
_IMAGES = ("image/png", "image/jpeg", "image/gif", "image/webp")


def work(task: dict[str, Any]) -> None:
    """Answer with the number of cells, then with one frame per cell, and one per picture that fits."""
    with os.fdopen(os.dup(0), "rb") as file:
        try:
            notebook = json.loads(file.read())
        except (ValueError, RecursionError):
            raise Refused("not_json", "") from None
    cells = _cells(notebook) if isinstance(notebook, dict) else None
    if not isinstance(cells, list):
        raise Refused("no_cells", "")
    answer({"cells": len(cells), "language": _language(notebook)})
    left, pictures = task["characters"], task["most_pictures"]
    for number, cell in enumerate(cells):
        if left <= 0:
            return
        text, images = _cell(number, cell) if isinstance(cell, dict) else (f"--- cell {number} (no cell) ---", [])
        answer({"cell": number, "text": text})
        left -= len(text)
        for data in images[:pictures] if number >= task["first"] else ():
            answer({"picture": number}, data)
            pictures -= 1


def _cells(notebook: dict[str, Any]) -> object:
    """The cells; up to version 3 of the format, they are in worksheets."""
    sheets = notebook.get("worksheets")
    if "cells" in notebook or not isinstance(sheets, list):
        return notebook.get("cells")
    found = [sheet.get("cells") for sheet in sheets if isinstance(sheet, dict)]
    return [cell for cells in found if isinstance(cells, list) for cell in cells]


def _language(notebook: dict[str, Any]) -> str:
    metadata = notebook.get("metadata")
    info = metadata.get("language_info") if isinstance(metadata, dict) else None
    name = info.get("name") if isinstance(info, dict) else None
    return name[:40] if isinstance(name, str) else ""


def _cell(number: int, cell: dict[str, Any]) -> tuple[str, list[bytes]]:
    kind = str(cell.get("cell_type"))[:20]
    count = cell.get("execution_count", cell.get("prompt_number"))
    ran = f", run {count}" if isinstance(count, int) else ""
    source = joined(cell.get("source", cell.get("input")))
    if len(source) > _MAX_SOURCE:
        source = f"{source[:_MAX_SOURCE]}\n[cut: {len(source)} characters]"
    parts = [f"--- cell {number} ({kind}{ran}) ---", source]
    found = cell.get("outputs")
    outputs = found if isinstance(found, list) else []
    images: list[bytes] = []
    for output in outputs[:_MAX_OUTPUTS]:
        if isinstance(output, dict):
            parts.append(_output(output, images))
    if len(outputs) > _MAX_OUTPUTS:
        parts.append(f"[{len(outputs) - _MAX_OUTPUTS} more outputs]")
    return "\n".join(part for part in parts if part), images


def _output(output: dict[str, Any], images: list[bytes]) -> str:
    kind = output.get("output_type")
    if kind == "stream":
        return _shown("output", joined(output.get("text")))
    if kind in ("error", "pyerr"):
        trace = joined([f"{line}\n" for line in output.get("traceback") or [] if isinstance(line, str)])
        return _shown("error", trace or f"{output.get('ename')}: {output.get('evalue')}")
    data = output.get("data")
    if kind in ("pyout", "display_data") and data is None:
        data = {media_type: output[key] for key, media_type in _OLD_TYPES.items() if key in output}
    if not isinstance(data, dict):
        return ""
    for media_type in _IMAGES:
        encoded = joined(data.get(media_type))
        if encoded:
            try:
                images.append(base64.b64decode(encoded, validate=False))
            except ValueError:
                continue
            return f"[output: a picture, {media_type}]"
    for media_type in _TEXTS:
        if media_type in data:
            found = data[media_type]
            return _shown("output", found if isinstance(found, str) else joined(found) or json.dumps(found))
    return f"[output: {', '.join(map(str, list(data)[:5]))[:200]}]"


def _shown(what: str, text: str) -> str:
    text = _ESCAPES.sub("", text).rstrip()
    if not text:
        return ""
    if len(text) > _MAX_OUTPUT:
        half = _MAX_OUTPUT // 2
        text = f"{text[:half]}\n[… {len(text) - _MAX_OUTPUT} characters …]\n{text[-half:]}"
    return f"[{what}]\n{text}"


def joined(text: Any) -> str:
    """A text of a notebook, which may be a list of lines."""
    if isinstance(text, list):
        return "".join(line for line in text if isinstance(line, str))
    return text if isinstance(text, str) else ""
