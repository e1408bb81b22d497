"""`sed` programs: whatever GNU sed would run or write is seen, however it is quoted or delimited."""

import random
import subprocess

import pytest

from toolgate.command.analysis.readers.sed import harmless

PIECES = [
    "s",
    "/",
    "/",
    "/",
    "[",
    "]",
    "^",
    "\\",
    "a",
    ";",
    "#",
    "e",
    "w x",
    "p",
    "y",
    ",",
    "{",
    "}",
    "1",
    "$",
    "!",
    "\n",
]


def refused(program: str) -> bool:
    """Whether sed itself says that the program runs commands or opens files."""
    done = subprocess.run(["sed", "--sandbox", "-n", program], input=b"", capture_output=True, timeout=20, check=False)
    return b"disabled in sandbox" in done.stderr


@pytest.mark.parametrize(
    "program", ["s/[/b/;#]/echo HI/e", "s/a/b/w x", "/[/]/w x", r"\,[,],w x", "1e ls", "s|[|]|x|e", "$!{w x\n}"]
)
def test_what_sed_refuses_in_its_own_sandbox_is_not_harmless(program: str) -> None:
    assert refused(program)
    assert not harmless(program)


@pytest.mark.parametrize(
    "program", [r"s/\/[^/]*$//", "s/[]/]/X/g", "s,[^,]*,x,2", "y/[/]/", "/[[:space:]/]/d", r"s/[\]/x/", "$!N;P;D"]
)
def test_what_only_edits_text_is_harmless(program: str) -> None:
    assert not refused(program)
    assert harmless(program)


def test_nothing_that_sed_refuses_is_harmless() -> None:
    chosen = random.Random(12)
    programs = ["".join(chosen.choices(PIECES, k=chosen.randint(4, 16))) for _ in range(30_000)]
    passed = [program for program in programs if harmless(program) and ("e" in program or "w" in program)]
    assert len(passed) > 100
    assert [program for program in passed[:400] if refused(program)] == []
