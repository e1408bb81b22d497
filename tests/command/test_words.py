"""Quoting round-trips, and words are those that bash passes."""

import shlex
import subprocess
from collections.abc import Callable

from hypothesis import given, settings
from hypothesis import strategies as st

from toolgate.command.analysis import UNRESOLVED, analyse
from toolgate.command.line import read_line

CONTROL = "".join(chr(code) for code in (*range(9), *range(11, 32), 127))

TEXT = st.text(st.characters(codec="utf-8", exclude_characters=CONTROL + UNRESOLVED), max_size=12)

SHELLISH = st.text(st.sampled_from(list("abrm \t\n'\"\\$`(){}[]<>|&;#~*?!=-x1")), max_size=14)


def ansi(text: str) -> str:
    return "$'" + "".join(f"\\x{byte:02x}" for byte in text.encode()) + "'"


def double(text: str) -> str:
    return '"' + "".join(f"\\{letter}" if letter in '"$`\\' else letter for letter in text) + '"'


def single(text: str) -> str:
    return "".join(f"'{letter}'" if letter != "'" else "\\'" for letter in text) or "''"


def pieces(text: str) -> str:
    """Every character quoted another way."""
    ways: list[Callable[[str], str]] = [shlex.quote, double, single]
    return "".join(ways[at % 3](letter) for at, letter in enumerate(text)) or "''"


QUOTINGS = st.sampled_from([shlex.quote, ansi, double, pieces])


@given(st.lists(st.tuples(st.one_of(TEXT, SHELLISH), QUOTINGS), min_size=1, max_size=4))
def test_quoting_round_trips(words: list[tuple[str, Callable[[str], str]]]) -> None:
    texts = tuple(text for text, _ in words)
    line = "echo " + " ".join(quote(text) for text, quote in words)
    assert ("echo", *texts) in analyse(line).commands
    assert tuple(word.text for word in read_line(line).words) == ("echo", *texts)


@settings(max_examples=60, deadline=None)
@given(st.lists(st.text(st.sampled_from(list("ab'\"\\$ {},~#=*")), min_size=1, max_size=8), min_size=1, max_size=3))
def test_words_that_are_known_are_the_words_that_bash_passes(words: list[str]) -> None:
    line = "printf '%s\\0' " + " ".join(words)
    plan = analyse(line)
    found = next((command for command in plan.commands if command[0] == "printf"), None)
    if plan.asks or found is None or any(mark in "".join(found) for mark in (UNRESOLVED, "*", "{", "~")):
        return
    ran = subprocess.run(["bash", "-c", line], capture_output=True, check=False, cwd="/", env={"PATH": "/usr/bin:/bin"})
    assert ran.stdout.decode().split("\0")[:-1] == [*found[2:]] or (len(found) == 2 and ran.stdout == b"\0")
