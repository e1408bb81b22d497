"""Converts a page to Markdown in a process of its own, which is killed if a hostile page keeps the parser busy."""

from __future__ import annotations

import json
import os
import time

from toolgate.errors import ToolError
from toolgate.process.bare_python import bare_python
from toolgate.process.fork import Fork
from toolgate.process.read_only import ReadOnlyCommand, memory_file, start
from toolgate.process.streaming import Bounds, OutputProcess, follow
from toolgate.protocol.codes import ErrorCode
from toolgate.web import html_markdown
from toolgate.workspace.threads import Stop, in_thread

SECONDS = 10.0


class _Output:
    """Collects what the process writes."""

    def __init__(self) -> None:
        self.content = bytearray()

    def feed(self, chunk: bytes) -> None:
        self.content += chunk

    def finish(self) -> None:
        """Nothing is left to do."""


async def to_markdown(html: str, url: str) -> tuple[str, str]:
    """The title and the text of a page. Raises `ToolError` if the page takes too long or cannot be converted."""
    return await in_thread(_converted, html, url)


def _converted(stop: Stop, html: str, url: str) -> tuple[str, str]:
    request = json.dumps([html.encode("utf-8", "replace").decode(), url]).encode()
    found = _Output()
    end = follow([_start(request)], [found], Bounds(deadline=time.monotonic() + SECONDS, stop=stop))
    if not end.complete:
        raise _unreadable(f"it was not converted within {SECONDS:g} seconds")
    try:
        title, text = json.loads(bytes(found.content))
    except ValueError:
        raise _unreadable("its HTML takes too much memory") from None
    return str(title), str(text)


def _start(request: bytes) -> OutputProcess:
    stdin = memory_file(request)
    try:
        argv = bare_python("toolgate.web.html_markdown", bare="web")
        return start(ReadOnlyCommand(argv=argv, directory=None, stdin=stdin))
    except (PermissionError, FileNotFoundError):
        return Fork(None, lambda out: _in_fork(request, out))
    finally:
        os.close(stdin)


def _in_fork(request: bytes, out: int) -> None:
    answer = html_markdown.convert_request(request)
    while answer:
        answer = answer[os.write(out, answer) :]


def _unreadable(why: str) -> ToolError:
    return ToolError(ErrorCode.EXECUTION_ERROR, f"The page cannot be shown: {why}.", "Use another source.")
