"""The architecture page names modules that exist."""

import re
from pathlib import Path

ROOT = Path(__file__).parent.parent
SOURCE = ROOT / "src" / "toolgate"
PAGE = (ROOT / "docs" / "architecture.md").read_text(encoding="utf-8")
MODULE = re.compile(r"(?<![\w/.])((?:[a-z_]+/)+[a-z_]+\.py)")


def test_every_module_on_the_page_exists() -> None:
    named = set(MODULE.findall(PAGE))
    assert len(named) > 40
    gone = [name for name in sorted(named) if not (SOURCE / name).exists() and not (ROOT / name).exists()]
    assert gone == [], "run scripts/architecture.py"


def test_every_room_on_the_page_exists_and_none_is_missing() -> None:
    rooms = {path.parent.name for path in SOURCE.glob("*/__init__.py")}
    assert set(re.findall(r"^(\w+)/ +│", PAGE, re.MULTILINE)) == rooms
