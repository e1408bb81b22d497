"""Pictures in the terminal: each is sent as base64, into rows that were made free for it before."""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import TYPE_CHECKING, Final

from toolgate.errors import ToolError

if TYPE_CHECKING:
    from toolgate.cli.chat.canvas import Canvas
    from toolgate.cli.chat.graphics import Graphics
    from toolgate.protocol.content import ImageContent

MAX_PICTURES: Final = 4
"""Pictures that are shown of one call; the others are named."""
_MAX_BYTES: Final = 700_000
"""Bytes of a picture that is sent to a terminal, which may be far away."""
_MAX_SIDE: Final = 1000
_MAX_ROWS: Final = 16
_INDENT: Final = 4
_CELL: Final = (9, 18)
"""Approximate width and height of a cell in pixels. They only decide how many rows a small picture takes."""
_CHUNK: Final = 4096
"""Bytes that kitty takes in one sequence."""


async def prepared(images: Sequence[ImageContent], graphics: Graphics | None) -> list[ImageContent]:
    """Return the pictures in a form that the terminal accepts. A picture that cannot be converted is left out."""
    if graphics is None:
        return []
    made = [await _prepared(image, graphics) for image in images[:MAX_PICTURES]]
    return [image for image in made if image is not None]


async def _prepared(image: ImageContent, graphics: Graphics) -> ImageContent | None:
    fits = len(image.data) <= _MAX_BYTES and max(image.width, image.height) <= _MAX_SIDE
    if fits and (image.media_type == "image/png" or graphics == "iterm2"):
        return image
    from toolgate.documents.images import small_png
    from toolgate.workspace import in_thread

    try:
        return await in_thread(small_png, image, _MAX_SIDE, _MAX_BYTES)
    except ToolError:  # its name is shown
        return None


def draw_picture(canvas: Canvas, image: ImageContent) -> list[str]:
    """Return a picture as one line of output that takes several rows; nothing if it is too wide and flat for a row."""
    rows = _rows(canvas, image)
    if canvas.graphics is None or rows < 1:
        return []
    sent = _kitty(image, rows) if canvas.graphics == "kitty" else _iterm2(image, rows)
    down = f"\x1b[{rows - 1}B" if rows > 1 else ""
    return ["\n" * rows + f"\x1b[{rows}A\r\x1b[{_INDENT}C\x1b7{sent}\x1b8\r{down}"]


def _rows(canvas: Canvas, image: ImageContent) -> int:
    """Return how many rows a picture takes: not more than it has pixels for, and not wider than the terminal."""
    columns = max(canvas.columns - 2 * _INDENT, 1)
    widest = columns * _CELL[0] * image.height / (image.width * _CELL[1])
    return math.floor(min(math.ceil(image.height / _CELL[1]), widest, _MAX_ROWS, max(canvas.rows - 4, 1)))


def _kitty(image: ImageContent, rows: int) -> str:
    text = image.base64
    chunks = [text[start : start + _CHUNK] for start in range(0, len(text), _CHUNK)]
    first = f"a=T,f=100,q=2,C=1,r={rows},"  # q=2: the terminal answers nothing, which would be read as typed
    return "".join(
        f"\x1b_G{first if number == 0 else ''}m={int(number < len(chunks) - 1)};{chunk}\x1b\\"
        for number, chunk in enumerate(chunks)
    )


def _iterm2(image: ImageContent, rows: int) -> str:
    shape = f"inline=1;size={len(image.data)};width=auto;height={rows};preserveAspectRatio=1"
    return f"\x1b]1337;File={shape}:{image.base64}\x07"
