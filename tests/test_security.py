"""The page of security promises names tests that exist."""

import re
from collections import Counter
from pathlib import Path

ROOT = Path(__file__).parents[1]
PAGE = (ROOT / "docs/security.md").read_text(encoding="utf-8")
NAMED = re.findall(r"(tests/[\w/]+\.py)::(test_\w+)", PAGE)


def test_every_section_has_promises() -> None:
    model, *sections = re.split(r"(?m)^## ", PAGE)[1:]
    assert model.startswith("Threat model\n")

    assert len(sections) == 12
    assert [section.splitlines()[0] for section in sections if not re.search(r"tests/[\w/]+\.py::test_", section)] == []


def test_every_promise_names_a_test() -> None:
    rows = re.findall(r"(?m)^\| [^|]+ \| ([^|]+) \|$", PAGE.replace("| promise | test |", "").replace("|---|---|", ""))

    assert rows
    assert [row for row in rows if not re.fullmatch(r"`?tests/[\w/]+\.py::test_\w+`?", row.strip())] == []


def test_every_test_that_is_named_exists() -> None:
    missing = [
        f"{file}::{name}"
        for file, name in NAMED
        if not re.search(rf"(?m)^(async )?def {name}\(", (ROOT / file).read_text(encoding="utf-8"))
    ]

    assert missing == []


def test_no_promise_stands_twice() -> None:
    assert [name for name, count in Counter(NAMED).items() if count > 1] == []
