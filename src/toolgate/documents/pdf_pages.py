"""The task `pdf`: the text of pages, or the pages as pictures. Runs in the worker."""

from __future__ import annotations

import os

from toolgate.documents.worker import Refused, answer

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any

_MAX_PAGE = 200_000
"""Characters of one page that are passed on."""
_RESOLUTION = 1.5
"""Pixels per point: 108 dots per inch."""


def work(task: dict[str, Any]) -> None:
    """Answer with the number of pages, then with one frame per page."""
    (_pictures if task["pictures"] else _texts)(task)


def _wanted(task: dict[str, Any], count: int) -> range:
    answer({"pages": count})
    return range(task["first"], min(task["last"] or count, count) + 1)


def _texts(task: dict[str, Any]) -> None:
    import logging

    import pypdf

    logging.disable()
    with os.fdopen(os.dup(0), "rb") as file:
        try:
            reader = pypdf.PdfReader(file)
            if reader.is_encrypted and not reader.decrypt(""):
                raise Refused("encrypted", "")
            pages = reader.pages
            left = task["characters"]
            for number in _wanted(task, len(pages)):
                text = pages[number - 1].extract_text()[:_MAX_PAGE]
                left -= len(text.encode("utf-8", "replace")) + 20
                if left < 0 and number > task["first"]:
                    return
                answer({"page": number, "text": text})
        except pypdf.errors.DependencyError:
            raise Refused("encrypted", "") from None


def _pictures(task: dict[str, Any]) -> None:
    import pypdfium2

    from toolgate.documents.scaling import send

    with os.fdopen(os.dup(0), "rb") as file:
        try:
            document = pypdfium2.PdfDocument(file.read())
        except pypdfium2.PdfiumError as error:
            raise Refused("encrypted" if "assword" in str(error) else "broken", "") from None
    for number in list(_wanted(task, len(document)))[: task["most_pictures"]]:
        page = document[number - 1]
        longest = max(page.get_width(), page.get_height(), 1.0)
        bitmap = page.render(scale=min(_RESOLUTION, task["side"] / longest))
        send(bitmap.to_pil(), task["side"], task["max_bytes"], page=number)
