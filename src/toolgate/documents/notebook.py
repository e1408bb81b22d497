"""Notebooks: their cells with outputs, as text and pictures."""

from __future__ import annotations

import os
from dataclasses import dataclass
from typing import Final

from toolgate.documents.images import image_of
from toolgate.documents.job import decode
from toolgate.documents.worker import MEMORY, SECONDS
from toolgate.errors import ToolError
from toolgate.protocol.codes import ErrorCode
from toolgate.protocol.content import ImageContent
from toolgate.workspace.oserrors import quote
from toolgate.workspace.threads import Stop

MAX_FILE: Final = 64 << 20
"""Bytes of the largest notebook that is read."""
MAX_PICTURES: Final = 4
"""Pictures among the outputs that one call shows."""
_MAX_CHARACTERS: Final = 4 << 20
"""Characters of cells that are looked through for a window."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Notebook:
    """The cells of a notebook."""

    cells: int
    """How many cells it has."""
    language: str
    lines: tuple[str, ...]
    """The cells as text."""
    images: tuple[ImageContent, ...]
    complete: bool
    """Whether all cells are in `lines`."""


def read_notebook(stop: Stop, fd: int, name: str) -> Notebook:
    """Return the cells. Raises `ToolError` if the file is not a notebook."""
    size = os.fstat(fd).st_size
    if size > MAX_FILE:
        raise _unreadable(name, f"has {size:,} bytes; notebooks are read up to {MAX_FILE:,}")
    task = {"task": "notebook", "characters": _MAX_CHARACTERS, "most_pictures": MAX_PICTURES, "first": 0}
    frames = decode(stop, fd, task)
    head = next((head for head, _ in frames.frames if "cells" in head), None)
    if head is None:
        raise _refused(name, frames.error or ("broken", ""))
    texts = [str(head["text"]) for head, _ in frames.frames if "text" in head]
    found = [(int(head["picture"]), data) for head, data in frames.frames if "picture" in head]
    images = tuple(image for number, data in found if (image := _image(stop, data, f"{name}, cell {number}")))
    return Notebook(
        cells=int(head["cells"]),
        language=str(head["language"]),
        lines=tuple("\n".join(texts).split("\n")) if texts else (),
        images=images,
        complete=len(texts) == int(head["cells"]) and frames.error is None,
    )


def _image(stop: Stop, data: bytes, name: str) -> ImageContent | None:
    """A picture of an output; None if it is not one, which the text of the cell names all the same."""
    try:
        return image_of(stop, data, name)
    except ToolError:
        return None


def _refused(name: str, error: tuple[str, str]) -> ToolError:
    if error[0] in ("limits", "memory"):
        return _unreadable(name, f"cannot be read within {MEMORY >> 20} MiB and {SECONDS} s")
    return _unreadable(name, "is not a notebook: it is not a JSON object with a list of cells")


def _unreadable(name: str, why: str) -> ToolError:
    return ToolError(
        ErrorCode.EXECUTION_ERROR, f"{quote(name)} {why}.", "Look at it with a command such as 'head -c' or 'jq'."
    )
