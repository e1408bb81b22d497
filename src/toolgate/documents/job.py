"""Runs the worker on one document, off the event loop, and never longer than its deadline."""

from __future__ import annotations

import importlib.util
import json
import os
import sys
import time
from dataclasses import dataclass, field
from functools import cache
from typing import Any

from toolgate.documents.worker import SECONDS
from toolgate.errors import ToolError
from toolgate.process.bare_python import PACKAGE, bare_python
from toolgate.process.read_only import ReadOnlyCommand, start
from toolgate.process.streaming import Bounds, follow
from toolgate.protocol.codes import ErrorCode
from toolgate.workspace.threads import Stop

DEADLINE = SECONDS + 10.0
"""Seconds after which the worker is ended, also if it only waits."""
_MAX_ANSWER = 64 << 20
_PACKAGES = {"pillow": "PIL", "pypdf": "pypdf", "pypdfium2": "pypdfium2"}


@dataclass(slots=True)
class Frames:
    """What the worker has answered."""

    frames: list[tuple[dict[str, Any], bytes]] = field(default_factory=list)
    complete: bool = False
    """Whether the worker ended by itself, and well."""
    _buffer: bytearray = field(default_factory=bytearray)
    _size: int = 0

    def feed(self, chunk: bytes) -> None:
        """Add the next piece of output."""
        self._size += len(chunk)
        if self._size <= _MAX_ANSWER:
            self._buffer += chunk
            self._take()

    def finish(self) -> None:
        """The output is complete."""

    def _take(self) -> None:
        while (end := self._buffer.find(b"\n")) >= 0:
            head: dict[str, Any] = json.loads(bytes(self._buffer[:end]))
            size = int(head.get("size", 0))
            if len(self._buffer) < end + 1 + size:
                return
            self.frames.append((head, bytes(self._buffer[end + 1 : end + 1 + size])))
            del self._buffer[: end + 1 + size]

    @property
    def error(self) -> tuple[str, str] | None:
        """The word and the text of a refusal; `limits` if the worker was ended."""
        for head, _ in self.frames:
            if "error" in head:
                return str(head["error"]), str(head["message"])
        return None if self.complete else ("limits", "")


@cache
def is_installed(package: str) -> bool:
    """Whether one of the optional packages is there."""
    return importlib.util.find_spec(_PACKAGES[package]) is not None


def decode(stop: Stop, fd: int, task: dict[str, Any]) -> Frames:
    """Run one task on an open file. Raises `ToolError` if no worker can be started."""
    frames = Frames()
    os.lseek(fd, 0, os.SEEK_SET)
    try:
        worker = start(
            ReadOnlyCommand(
                argv=bare_python("toolgate.documents.worker", json.dumps(task | _paths()), bare="documents"),
                directory=None,
                stdin=fd,
                readable=_readable(),
            )
        )
    except OSError as error:
        raise ToolError(
            ErrorCode.EXECUTION_ERROR,
            f"The process that decodes documents could not be started: {os.strerror(error.errno or 0)}.",
            "Try again in a moment.",
        ) from None
    end = follow([worker], [frames], Bounds(deadline=time.monotonic() + DEADLINE, stop=stop))
    frames.complete = end.complete and not end.failed
    return frames


def _paths() -> dict[str, list[str]]:
    return {"packages": [path for path in sys.path if path.endswith(("site-packages", "dist-packages"))]}


@cache
def _readable() -> tuple[str, ...]:
    """The only places that the worker may read: Python's own, the installed packages, and this package."""
    places = {sys.base_prefix, sys.base_exec_prefix, PACKAGE, *_paths()["packages"]}
    return tuple(sorted(place for place in places if os.path.isdir(place) and place not in ("/", "/usr")))
