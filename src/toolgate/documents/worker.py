"""The worker process: decodes one untrusted document, with limits that the kernel enforces.

It gets its task as JSON and the document as its standard input. It answers with frames: each is a line of JSON, and
one with `size` is followed by that many bytes. A frame is written as soon as it is known, so that what a killed worker
has found is not lost. It imports nothing of this package but the modules of its task.
"""

from __future__ import annotations

import importlib
import json
import os
import sys

TYPE_CHECKING = False
if TYPE_CHECKING:  # importing `typing` would cost the worker a part of its start
    from typing import Any

MEMORY = 1 << 30
"""Bytes of memory that a document may take."""
SECONDS = 20
"""Seconds of processor time that a document may take."""
TASKS = {
    "image": "toolgate.documents.scaling",
    "pdf": "toolgate.documents.pdf_pages",
    "notebook": "toolgate.documents.notebook_cells",
}
"""The module of each task; its `work` does it."""


class Refused(Exception):
    """The document cannot be used. The first argument is a word for the caller, the second what to say about it."""


def answer(frame: dict[str, Any], data: bytes = b"") -> None:
    """Write one frame."""
    if data:
        frame = {**frame, "size": len(data)}
    view = memoryview(json.dumps(frame).encode() + b"\n" + data)
    while view:
        view = view[os.write(1, view) :]


def _limit() -> None:
    import resource

    limits = {
        resource.RLIMIT_AS: MEMORY,
        resource.RLIMIT_CPU: SECONDS,
        resource.RLIMIT_FSIZE: 0,  # pipes are not limited by this: it cannot write anywhere else
        resource.RLIMIT_CORE: 0,
    }
    for kind, limit in limits.items():
        resource.setrlimit(kind, (limit, limit))


def main() -> None:
    """Do the task of the command line."""
    _limit()
    task = json.loads(sys.argv[4])
    sys.path += task["packages"]
    try:
        importlib.import_module(TASKS[task["task"]]).work(task)
    except Refused as refusal:
        answer({"error": refusal.args[0], "message": refusal.args[1]})
    except ModuleNotFoundError as error:
        answer({"error": "missing", "message": (error.name or "").partition(".")[0]})
    except MemoryError:
        answer({"error": "memory", "message": ""})
    except Exception as error:  # noqa: BLE001 - a decoder may raise anything about a broken document
        answer({"error": "broken", "message": type(error).__name__})
