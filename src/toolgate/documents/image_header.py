"""Recognises pictures by their first bytes, without decoding them."""

from __future__ import annotations

from collections.abc import Callable
from typing import NamedTuple

from toolgate.protocol.content import MediaType

SAMPLE = 1 << 18
"""Bytes at the start of a file that tell the size of every ordinary picture."""
_SOF = frozenset(range(0xC0, 0xD0)) - {0xC4, 0xC8, 0xCC}
"""Segments of a JPEG file that tell its size."""


class ImageHeader(NamedTuple):
    """What the first bytes of a picture say; a size of 0 is unknown."""

    media_type: MediaType
    width: int
    height: int


def image_header(data: bytes) -> ImageHeader | None:
    """Return the type and size of a picture; None if these are not the first bytes of one."""
    for media_type, (is_start, size) in _FORMATS.items():
        if is_start(data):
            return ImageHeader(media_type, *size(data))
    return None


def is_complete(header: ImageHeader, data: bytes) -> bool:
    """Whether the file has a size and ends as its format wants it; the pixels are not looked at."""
    if not (header.width and header.height):
        return False
    if header.media_type == "image/webp":
        return len(data) >= int.from_bytes(data[4:8], "little") + 8
    end = {"image/png": b"IEND\xaeB`\x82", "image/jpeg": b"\xff\xd9", "image/gif": b";"}[header.media_type]
    return data.rstrip(b"\0").endswith(end)


def _png(data: bytes) -> tuple[int, int]:
    if data[12:16] != b"IHDR" or len(data) < 24:
        return 0, 0
    return int.from_bytes(data[16:20], "big"), int.from_bytes(data[20:24], "big")


def _gif(data: bytes) -> tuple[int, int]:
    return int.from_bytes(data[6:8], "little"), int.from_bytes(data[8:10], "little")


def _jpeg(data: bytes) -> tuple[int, int]:
    position = 2
    while position + 9 <= len(data) and data[position] == 0xFF:
        kind = data[position + 1]
        if kind in _SOF:
            height, width = data[position + 5 : position + 7], data[position + 7 : position + 9]
            return int.from_bytes(width, "big"), int.from_bytes(height, "big")
        position += 1 if kind == 0xFF else 2 + int.from_bytes(data[position + 2 : position + 4], "big")
    return 0, 0


def _webp(data: bytes) -> tuple[int, int]:
    kind = data[12:16]
    if kind == b"VP8X":
        return int.from_bytes(data[24:27], "little") + 1, int.from_bytes(data[27:30], "little") + 1
    if kind == b"VP8L" and len(data) >= 25:
        bits = int.from_bytes(data[21:25], "little")
        return (bits & 0x3FFF) + 1, (bits >> 14 & 0x3FFF) + 1
    if kind == b"VP8 " and data[23:26] == b"\x9d\x01\x2a":
        return int.from_bytes(data[26:28], "little") & 0x3FFF, int.from_bytes(data[28:30], "little") & 0x3FFF
    return 0, 0


_FORMATS: dict[MediaType, tuple[Callable[[bytes], bool], Callable[[bytes], tuple[int, int]]]] = {
    "image/png": (lambda data: data.startswith(b"\x89PNG\r\n\x1a\n"), _png),
    "image/jpeg": (lambda data: data.startswith(b"\xff\xd8\xff"), _jpeg),
    "image/gif": (lambda data: data.startswith((b"GIF87a", b"GIF89a")), _gif),
    "image/webp": (lambda data: data[:4] == b"RIFF" and data[8:12] == b"WEBP", _webp),
}
