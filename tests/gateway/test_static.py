"""The page's files, as they are written: nothing inline, one way for HTML, everything asked for at once."""

import re
from pathlib import Path

import pytest

from toolgate.gateway.assets import STATIC

PAGE = (STATIC / "index.html").read_text()
STATUS = (STATIC / "status.html").read_text()
MODULES = sorted(STATIC.glob("*.js"))


def test_nothing_is_inline() -> None:
    assert re.findall(r"<script(?![^>]*\bsrc=)|<style|\sstyle=|\son\w+=|javascript:", PAGE + STATUS) == []


def test_every_module_is_asked_for_at_once() -> None:
    asked = set(re.findall(r'modulepreload" href="/static/([\w.]+)"', PAGE)) | {"main.js", "theme.js"}
    assert asked == {module.name for module in MODULES} - {"status.js"}


def test_every_file_is_used() -> None:
    used = set(re.findall(r'/static/([\w.]+)"', PAGE + STATUS)) | {"index.html", "status.html"}
    assert used == {path.name for path in STATIC.iterdir()}


@pytest.mark.parametrize("module", MODULES, ids=lambda module: module.name)
def test_a_module_is_small_and_has_no_way_around_the_policy(module: Path) -> None:
    text = module.read_text()
    ways = re.findall(
        r"innerHTML|outerHTML|insertAdjacentHTML|document\.write|eval\(|new Function|setAttribute\(.style", text
    )
    assert ways == (["innerHTML"] if module.name == "dom.js" else [])
    lines = text.splitlines()
    assert lines[0].startswith("// ")
    assert len(lines) <= 250
    assert max(map(len, lines)) <= 120


def test_icons_that_are_used_exist() -> None:
    drawn = set(re.findall(r'symbol id="i-([\w-]+)"', PAGE))
    text = PAGE + "".join(module.read_text() for module in MODULES)
    named = set(re.findall(r'icon\("([\w-]+)"\)|href="#i-([\w-]+)"', text))
    assert {name for pair in named for name in pair if name} <= drawn
    assert {"success", "partial", "error", "denied", "cancelled", "running", "waiting"} <= drawn
