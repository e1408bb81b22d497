"""Pages are converted in a process that can be ended."""

import time

import pytest

from toolgate.errors import ToolError
from toolgate.process import bare_python
from toolgate.web import convert
from toolgate.web.convert import to_markdown


async def test_a_page_is_converted() -> None:
    assert await to_markdown("<title>T</title><h2>A</h2>\udc80", "https://site.test/") == ("T", "## A\n\n?")


async def test_w09_a_page_that_keeps_the_parser_busy_is_ended(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(convert, "SECONDS", 0.5)
    monkeypatch.setattr(bare_python, "_BOOT", "while True: pass")
    begun = time.monotonic()
    with pytest.raises(ToolError, match="was not converted within"):
        await to_markdown("<p>x</p>", "https://site.test/")
    assert time.monotonic() - begun < 10


async def test_a_process_that_dies_is_an_error(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(bare_python, "_BOOT", "import os; os._exit(3)")
    with pytest.raises(ToolError, match="cannot be shown"):
        await to_markdown("<p>x</p>", "https://site.test/")


async def test_without_an_interpreter_a_fork_converts(monkeypatch: pytest.MonkeyPatch) -> None:
    def refused(command: object) -> None:
        raise PermissionError

    monkeypatch.setattr(convert, "start", refused)
    assert await to_markdown("<h1>A</h1>", "https://site.test/") == ("", "# A")
