"""The patch format: what is parsed, and what is refused."""

import time
from contextlib import suppress

import pytest

from toolgate.errors import ToolError
from toolgate.workspace.patch import MAX_SECTIONS, Hunk, Section, parse_patch


def patch(*lines: str) -> str:
    return "\n".join(["*** Begin Patch", *lines, "*** End Patch"])


def test_the_parts_of_a_patch() -> None:
    text = patch(
        "*** Add File: new",
        "+one",
        "*** Delete File: a b",
        "*** Update File: f",
        "*** Move to: g",
        "@@ class A:",
        "@@ def m():",
        " stays",
        "-goes",
        "+comes",
        "*** End of File",
    )
    hunk = Hunk(
        number=1,
        line=7,
        anchors=("class A:", "def m():"),
        lines=((" ", "stays"), ("-", "goes"), ("+", "comes")),
        at_end=True,
    )

    assert parse_patch(text) == (
        Section(action="add", path="new", line=2, content="one\n"),
        Section(action="delete", path="a b", line=4),
        Section(action="update", path="f", line=5, move_to="g", hunks=(hunk,)),
    )
    assert (hunk.old, hunk.new) == (["stays", "goes"], ["stays", "comes"])


def test_too_many_files_are_refused() -> None:
    sections = [f"*** Delete File: {number}" for number in range(MAX_SECTIONS + 1)]
    with pytest.raises(ToolError, match="split it"):
        parse_patch(patch(*sections))


@pytest.mark.parametrize(
    "text",
    ["\n" * 1_000_000, patch("*** Add File: f", *[""] * 1_000_000), patch("*** Update File: f", *["@@"] * 300_000)],
    ids=["newlines", "a new file of blanks", "at signs"],
)
def test_a_hostile_patch_is_parsed_in_bounded_time(text: str) -> None:
    begin = time.monotonic()
    with suppress(ToolError):
        parse_patch(text)

    assert time.monotonic() - begin < 20
