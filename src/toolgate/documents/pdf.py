"""PDF files: their pages as text, or as pictures where that is asked for."""

from __future__ import annotations

import os
import re
from dataclasses import dataclass
from typing import Final, cast

from toolgate.documents.images import INSTALL, MAX_BYTES, MAX_SIDE
from toolgate.documents.job import Frames, decode, is_installed
from toolgate.documents.worker import MEMORY, SECONDS
from toolgate.errors import ToolError
from toolgate.protocol.codes import ErrorCode
from toolgate.protocol.content import ImageContent, MediaType
from toolgate.workspace.oserrors import quote
from toolgate.workspace.threads import Stop

MAX_FILE: Final = 100 << 20
"""Bytes of the largest PDF file that is read."""
MAX_PICTURES: Final = 4
"""Pages that one call shows as pictures."""
_PAGES = re.compile(r"\s*([0-9]{1,6})\s*(?:(-)\s*([0-9]{1,6})?\s*)?")
_TEXT_CHARACTERS: Final = 38_000


@dataclass(frozen=True, slots=True, kw_only=True)
class PdfPages:
    """Some pages of a document."""

    count: int
    """How many pages the document has."""
    texts: tuple[tuple[int, str], ...] = ()
    images: tuple[ImageContent, ...] = ()
    first: int
    last: int
    """The last page that was asked for."""
    next_page: int | None = None
    """The page to go on with; None if all that was asked for is there."""
    stopped: bool = False
    """Whether the worker was ended before it was done."""


def parse_pages(pages: str) -> tuple[int, int | None]:
    """Return the first and the last page (None: the end) of a text such as `3`, `3-5` or `3-`. Raises `ToolError`."""
    if not pages:
        return 1, None
    match = _PAGES.fullmatch(pages)
    first = int(match[1]) if match else 0
    last = None if match is None or (match[2] and not match[3]) else int(match[3] or first)
    if match is None or first < 1 or (last is not None and last < first):
        raise ToolError(
            ErrorCode.INVALID_PARAM,
            "Invalid parameters for 'read_file': pages: expected a page or a range that counts from 1.",
            "Pass pages such as '3', '3-5' or '3-'.",
        )
    return first, last


def read_pdf(stop: Stop, fd: int, name: str, pages: str, *, pictures: bool) -> PdfPages:
    """Return the pages. Raises `ToolError` if they cannot be had."""
    first, last = parse_pages(pages)
    for package in ("pypdfium2", "pillow") if pictures else ("pypdf",):
        if not is_installed(package):
            raise _missing(name, package)
    size = os.fstat(fd).st_size
    if size > MAX_FILE:
        raise _unreadable(name, f"has {size:,} bytes; PDF files are read up to {MAX_FILE:,}")
    task = {
        "task": "pdf",
        "pictures": pictures,
        "first": first,
        "last": last,
        "characters": _TEXT_CHARACTERS,
        "side": MAX_SIDE,
        "max_bytes": MAX_BYTES,
        "most_pictures": MAX_PICTURES,
    }
    frames = decode(stop, fd, task)
    return _pages(frames, name, first, last)


def _pages(frames: Frames, name: str, first: int, last: int | None) -> PdfPages:
    count = next((int(head["pages"]) for head, _ in frames.frames if "pages" in head), None)
    texts = tuple((int(head["page"]), str(head["text"])) for head, _ in frames.frames if "text" in head)
    shown = [(head, data) for head, data in frames.frames if "media_type" in head]
    images = tuple(
        ImageContent(
            media_type=cast("MediaType", head["media_type"]),
            width=head["width"],
            height=head["height"],
            data=data,
            name=f"{name}, page {head['page']}",
        )
        for head, data in shown
    )
    done = [number for number, _ in texts] + [int(head["page"]) for head, _ in shown]
    if (frames.error is not None and not done) or count is None:
        raise _refused(name, frames.error or ("broken", ""))
    if first > count:
        raise ToolError(
            ErrorCode.INVALID_PARAM,
            f"{quote(name)} has {count} pages; there is no page {first}.",
            f"Pass pages between 1 and {count}.",
        )
    wanted = min(last or count, count)
    reached = max(done, default=first - 1)
    return PdfPages(
        count=count,
        texts=texts,
        images=images,
        first=first,
        last=wanted,
        next_page=reached + 1 if reached < wanted else None,
        stopped=frames.error is not None,
    )


def _refused(name: str, error: tuple[str, str]) -> ToolError:
    word, said = error
    if word == "encrypted":
        return _unreadable(name, "is encrypted with a password")
    if word in ("limits", "memory"):
        return _unreadable(name, f"cannot be decoded within {MEMORY >> 20} MiB and {SECONDS} s")
    if word == "missing":
        return _missing(name, said)
    return _unreadable(name, "begins like a PDF file but is broken")


def _unreadable(name: str, why: str) -> ToolError:
    return ToolError(
        ErrorCode.BINARY_FILE,
        f"{quote(name)} {why}.",
        "Ask the user for another copy, or look at it with a command such as 'pdftotext' or 'qpdf'.",
    )


def _missing(name: str, package: str) -> ToolError:
    return ToolError(
        ErrorCode.BINARY_FILE,
        f"{quote(name)} is a PDF file, and the package {package}, which reads them, is not installed.",
        f"Ask the user to install it ({INSTALL}), or look at the file with a command such as 'pdftotext'.",
    )
