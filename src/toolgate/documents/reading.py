"""Reads a file other than plain text: a picture, a PDF file, or a notebook."""

from __future__ import annotations

import os
from dataclasses import dataclass
from typing import Any, Final

from toolgate.documents.image_header import SAMPLE, image_header
from toolgate.documents.images import read_image
from toolgate.documents.notebook import read_notebook
from toolgate.documents.pdf import MAX_PICTURES, PdfPages, parse_pages, read_pdf
from toolgate.protocol.content import ImageContent, format_name
from toolgate.workspace.file_state import digest_file, identity
from toolgate.workspace.oserrors import quote
from toolgate.workspace.root import OpenedFile, Workspace
from toolgate.workspace.threads import Stop

_PAGE_BYTES: Final = 38_000
"""Bytes of text that one call returns, as for text files."""


@dataclass(frozen=True, slots=True, kw_only=True)
class DocumentPart:
    """Which part of a document."""

    start_line: int = 1
    limit: int = 2000
    pages: str = ""
    pictures: bool = False


@dataclass(frozen=True, slots=True, kw_only=True)
class Document:
    """What a model gets of a document."""

    media_type: str
    summary: str
    """What it is, and how to read on."""
    content: str = ""
    images: tuple[ImageContent, ...] = ()
    truncated: bool = False
    stat: os.stat_result
    digest: str | None


def read_document(stop: Stop, workspace: Workspace, path: str, wanted: DocumentPart) -> Document | None:
    """Return the document, or None if the content is that of another file. Raises `ToolError`."""
    with workspace.open_file(path) as opened:
        sample = opened.read(SAMPLE, 0)
        if sample.startswith(b"%PDF-"):
            return _pdf(stop, opened, path, wanted)
        if image_header(sample) is not None:
            return _image(stop, opened, path)
        if is_notebook(path):
            return _notebook(stop, opened, path, wanted)
    return None


def is_notebook(path: str) -> bool:
    """Whether a file is a notebook by its name, which is how every program knows one."""
    return path.endswith(".ipynb")


def _image(stop: Stop, opened: OpenedFile, path: str) -> Document:
    image, note = read_image(stop, opened.fd, path)
    header = image_header(opened.read(SAMPLE, 0))
    assert header is not None
    original = header if header.width else image  # the header of some formats does not have the size
    size = f"{original.width} × {original.height}"
    kind = format_name(header.media_type)
    summary = f"{quote(path)} is a picture: {kind}, {size} pixels, {opened.stat.st_size:,} bytes. {note}".strip()
    return Document(media_type=image.media_type, summary=summary, images=(image,), **_state(opened))


def _pdf(stop: Stop, opened: OpenedFile, path: str, wanted: DocumentPart) -> Document:
    parse_pages(wanted.pages)
    found = read_pdf(stop, opened.fd, path, wanted.pages, pictures=wanted.pictures)
    lines: list[str] = []
    if not wanted.pictures:
        for number, text in found.texts:
            lines += [f"--- page {number} ---", *text.split("\n")]
    shown, more = _window(lines, wanted)
    truncated = found.next_page is not None or more is not None
    return Document(
        media_type="application/pdf",
        summary=_about_pages(found, path, wanted, more),
        content="\n".join(shown),
        images=found.images,
        truncated=truncated,
        **_state(opened),
    )


def _about_pages(found: PdfPages, path: str, wanted: DocumentPart, more: int | None) -> str:
    numbers = [number for number, _ in found.texts] or list(range(found.first, (found.next_page or found.last + 1)))
    which = f"page {numbers[0]}" if len(numbers) == 1 else f"pages {numbers[0]}-{numbers[-1]}"
    sentences = [f"{quote(path)} is a PDF file of {found.count} pages. Here: {which}."]
    if not wanted.pictures and not any(text.strip() for _, text in found.texts):
        sentences.append(f"They have no text: they may be scanned. Pass pictures=true to see up to {MAX_PICTURES}.")
    if found.stopped:
        sentences.append("Decoding was ended there, because it took too long or too much memory.")
    if more is not None:
        sentences.append(f"More lines follow: use the same pages and start_line={more} to read on.")
    elif found.next_page is not None:
        end = f"{found.last}" if wanted.pages and found.last < found.count else ""
        sentences.append(f"Next: pages='{found.next_page}-{end}'.")
    return " ".join(sentences)


def _notebook(stop: Stop, opened: OpenedFile, path: str, wanted: DocumentPart) -> Document:
    found = read_notebook(stop, opened.fd, path)
    lines = list(found.lines)
    shown, more = _window(lines, wanted)
    language = f" ({found.language})" if found.language else ""
    cells = "cell" if found.cells == 1 else "cells"
    sentences = [f"{quote(path)} is a notebook{language} of {found.cells} {cells}, which count from 0."]
    if more is not None:
        sentences.append(f"More lines follow: use start_line={more} to read on.")
    elif not found.complete:
        sentences.append("It has more cells than can be shown; look at the rest with a command such as 'jq'.")
    return Document(
        media_type="application/x-ipynb+json",
        summary=" ".join(sentences),
        content="\n".join(shown),
        images=found.images if wanted.start_line == 1 else (),
        truncated=more is not None or not found.complete,
        **_state(opened),
    )


def _window(lines: list[str], wanted: DocumentPart) -> tuple[list[str], int | None]:
    """The wanted lines, within the size of a page, and the number of the line to go on with."""
    first = wanted.start_line - 1 if wanted.start_line > 0 else max(0, len(lines) + wanted.start_line)
    shown: list[str] = []
    left = _PAGE_BYTES
    for line in lines[first : first + wanted.limit]:
        left -= len(line.encode("utf-8", "replace")) + 1
        if left < 0 and shown:
            break
        shown.append(line[:_PAGE_BYTES])
    following = first + len(shown)
    return shown, following + 1 if following < len(lines) else None


def _state(opened: OpenedFile) -> dict[str, Any]:
    """What is remembered about the file that was read."""
    digest = digest_file(opened.fd, opened.stat)
    same = identity(os.fstat(opened.fd)) == identity(opened.stat)
    return {"stat": opened.stat, "digest": digest if same else None}
