"""Pictures for models: small enough, complete, and in a format that every provider accepts."""

from __future__ import annotations

import os
from typing import Any, Final, cast

from toolgate.documents.image_header import SAMPLE, ImageHeader, image_header, is_complete
from toolgate.documents.job import decode, is_installed
from toolgate.documents.worker import MEMORY, SECONDS
from toolgate.errors import ToolError
from toolgate.process.read_only import memory_file
from toolgate.protocol.codes import ErrorCode
from toolgate.protocol.content import ImageContent, MediaType
from toolgate.workspace.oserrors import quote
from toolgate.workspace.threads import Stop

MAX_FILE: Final = 20 << 20
"""Bytes of the largest picture that is read."""
MAX_PIXELS: Final = 40_000_000
"""Pixels of the largest picture that is decoded."""
MAX_SIDE: Final = 1568
"""Pixels of a side from which on a picture is scaled: providers do not look closer."""
MAX_BYTES: Final = 1_500_000
"""Bytes of a picture that is sent, if it can be scaled."""
_UNSCALED_BYTES: Final = 3_700_000
"""Bytes of a picture that is sent as it is: with base64, all providers take it."""
_UNSCALED_SIDE: Final = 8000
INSTALL: Final = "pip install 'toolgate[documents]'"


def read_image(stop: Stop, fd: int, name: str) -> tuple[ImageContent, str]:
    """Return the picture of an open file as it is sent, and what was done to it. Raises `ToolError`."""
    size = os.fstat(fd).st_size
    header = image_header(os.pread(fd, SAMPLE, 0))
    if header is None:
        raise unusable(name, "is not a picture that models take")
    if size > MAX_FILE:
        raise unusable(name, f"has {size:,} bytes; pictures are read up to {MAX_FILE:,}")
    if header.width * header.height > MAX_PIXELS:
        raise unusable(name, f"has {_size(header)} pixels; pictures are decoded up to {MAX_PIXELS:,} pixels")
    if not is_installed("pillow"):
        return _unscaled(fd, size, header, name), ""
    return _scaled(stop, fd, size, header, name)


def image_of(stop: Stop, data: bytes, name: str) -> ImageContent:
    """Return a picture from bytes that nobody has checked. Raises `ToolError`."""
    fd = memory_file(data)
    try:
        return read_image(stop, fd, name)[0]
    finally:
        os.close(fd)


def small_png(stop: Stop, image: ImageContent, side: int, limit: int) -> ImageContent:
    """Return a picture as a PNG of at most `side` pixels a side and `limit` bytes. Raises `ToolError`."""
    if not is_installed("pillow"):
        raise unusable(image.name, "cannot be scaled without Pillow")
    fd = memory_file(image.data)
    try:
        size = len(image.data)
        task = {"task": "image", "pixels": MAX_PIXELS, "side": side, "max_bytes": limit, "bytes": size, "only": "PNG"}
        frames = decode(stop, fd, task)
    finally:
        os.close(fd)
    if frames.error is not None:
        raise unusable(image.name, "cannot be decoded")
    head, data = frames.frames[0]
    if head.get("same"):
        return image
    return _content(data, head["media_type"], head["width"], head["height"], image.name)


def unusable(name: str, why: str) -> ToolError:
    """Return the error for a picture that cannot be shown."""
    return ToolError(
        ErrorCode.BINARY_FILE,
        f"{quote(name)} {why}.",
        "Make a smaller or valid copy with a command and read that, or go on without it.",
    )


def _unscaled(fd: int, size: int, header: ImageHeader, name: str) -> ImageContent:
    """The file without decoding it, if it is small enough and complete."""
    if size > _UNSCALED_BYTES or max(header.width, header.height) > _UNSCALED_SIDE:
        raise ToolError(
            ErrorCode.BINARY_FILE,
            f"{quote(name)} is too large to be shown as it is ({_size(header)} pixels, {size:,} bytes), and Pillow, "
            "which scales pictures, is not installed.",
            f"Ask the user to install it ({INSTALL}), or make a smaller copy with a command.",
        )
    data = os.pread(fd, size, 0)
    if not is_complete(header, data):
        raise _broken(header, name)
    return _content(data, header.media_type, header.width, header.height, name)


def _scaled(stop: Stop, fd: int, size: int, header: ImageHeader, name: str) -> tuple[ImageContent, str]:
    """The picture after it was decoded in the worker."""
    task = {"task": "image", "pixels": MAX_PIXELS, "side": MAX_SIDE, "max_bytes": MAX_BYTES, "bytes": size}
    frames = decode(stop, fd, task)
    if frames.error is not None:
        word, detail = frames.error
        if word == "pixels":
            raise unusable(name, f"has {detail} pixels; pictures are decoded up to {MAX_PIXELS:,} pixels")
        if word in ("limits", "memory"):
            raise unusable(name, f"cannot be decoded within {MEMORY >> 20} MiB and {SECONDS} s")
        raise _broken(header, name)
    head, data = frames.frames[0]
    if head.get("same"):
        return _content(os.pread(fd, size, 0), header.media_type, head["width"], head["height"], name), ""
    image = _content(data, head["media_type"], head["width"], head["height"], name)
    return image, _changes_note(header, head)


def _changes_note(header: ImageHeader, head: dict[str, Any]) -> str:
    notes = []
    if (head["width"], head["height"]) != (header.width, header.height):
        notes.append(f"It is shown as {head['width']} × {head['height']} pixels.")
    if head.get("frames", 1) > 1:
        notes.append(f"Only the first of its {head['frames']} frames is shown.")
    return " ".join(notes)


def _content(data: bytes, media_type: str, width: int, height: int, name: str) -> ImageContent:
    return ImageContent(media_type=cast("MediaType", media_type), width=width, height=height, data=data, name=name)


def _broken(header: ImageHeader, name: str) -> ToolError:
    return unusable(name, f"begins like a {header.media_type.removeprefix('image/').upper()} picture but is broken")


def _size(header: ImageHeader) -> str:
    return f"{header.width} × {header.height}"
