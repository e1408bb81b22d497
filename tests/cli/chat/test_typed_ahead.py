"""What is written while a turn runs: how keys are read, and what becomes of it."""

import os
import pty
import sys
from collections.abc import Iterator

import pytest

from toolgate.cli.chat.canvas import Canvas
from toolgate.cli.chat.keyboard import Keyboard
from toolgate.cli.chat.typed_ahead import BACK, ENTER, ERASE, TypedAhead


def written(*keys: str) -> TypedAhead:
    ahead = TypedAhead()
    for key in keys:
        ahead.key(key)
    return ahead


def state(ahead: TypedAhead) -> tuple[list[str], str]:
    return ahead.messages, ahead.line


def test_enter_queues_the_line_and_every_message_waits_for_itself() -> None:
    ahead = written(*"one", ENTER, *"two", ENTER, *"thr")

    assert state(ahead) == (["one", "two"], "thr")
    assert (ahead.next(), ahead.next(), ahead.next()) == ("one", "two", None)
    assert (ahead.rest(), ahead.rest()) == ("thr", "")


def test_enter_on_a_blank_line_sends_nothing() -> None:
    assert state(written(ENTER, " ", ENTER)) == ([], " ")


def test_esc_takes_the_last_message_back_into_the_line() -> None:
    assert state(written(*"one", ENTER, *"two", ENTER, BACK)) == (["one"], "two")
    assert state(written(*"one", ENTER, *"more", BACK)) == ([], "one\nmore")
    assert state(written(*"more", BACK)) == ([], "more")


def test_a_line_can_be_corrected() -> None:
    assert state(written(*"onn", "\x7f", "e", "\x07", "\x1c")) == ([], "one")
    assert state(written(*"one", ERASE, *"two")) == ([], "two")


def test_what_is_pasted_is_no_enter() -> None:
    assert state(written("one\ntwo\n", *"x", ENTER)) == (["one\ntwo\nx"], "")


def test_what_is_held_is_the_persons_again() -> None:
    ahead = written(*"one", ENTER, *"two", ENTER, *"three")
    ahead.hold()

    assert state(ahead) == ([], "one\n\ntwo\n\nthree")


def test_what_waits_can_be_seen_and_controls_nothing() -> None:
    ahead = written("\x1b]0;owned\x07" + "long " * 100, ENTER, *"a\u202eb")
    shown = "\n".join(ahead.rows(Canvas(sys.stdout)))

    assert "queued" in shown
    assert "Esc takes it back" in shown
    assert "\\u202e" in shown
    assert "\x1b]" not in shown
    assert "\u202e" not in shown
    assert TypedAhead().rows(Canvas(sys.stdout)) == []


def test_of_many_messages_the_last_ones_are_shown() -> None:
    rows = written(*[key for number in range(9) for key in (f"m{number}", ENTER)]).rows(Canvas(sys.stdout))

    assert "6 more queued" in rows[1]
    assert ["m6" in rows[2], "m7" in rows[3], "m8" in rows[4], len(rows)] == [True, True, True, 5]


@pytest.fixture
def keyboard() -> Iterator[Keyboard]:
    ours, theirs = pty.openpty()
    with os.fdopen(theirs) as source:
        yield Keyboard(source, sys.stdout)
    os.close(ours)


def keys(keyboard: Keyboard, *pieces: str) -> list[str]:
    return [key for piece in pieces for key in keyboard._keys(keyboard._unread + piece)]


@pytest.mark.parametrize(
    ("typed", "meant"),
    [
        ("a\r", ["a", ENTER]),
        ("a\n", ["a", ENTER]),
        ("a\x1b\rb", ["a", "\n", "b"]),
        ("\x1b", [BACK]),
        ("\x1b[A\x1bOA", [BACK, BACK]),
        ("\x1b[1;5C\x1bOBx", ["x"]),
        ("\x1b[200~one\r\ntwo\x1b[31m\x1b[201~!", ["one\ntwo\x1b[31m", "!"]),
        ("\x1b[200~\x1b[201~\x1b[200~x\x1b[201~", ["", "x"]),
    ],
)
def test_keys_are_read_as_they_are_meant(keyboard: Keyboard, typed: str, meant: list[str]) -> None:
    assert keys(keyboard, typed) == meant


def test_what_comes_in_pieces_is_read_as_one(keyboard: Keyboard) -> None:
    assert keys(keyboard, "a\x1b[20", "0~on", "e\rtwo\x1b[2", "01~b\x1b[", "Ac") == ["a", "one\ntwo", "b", BACK, "c"]
