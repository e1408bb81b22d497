"""Which terminals are asked whether they show pictures, and what their answers mean."""

import os
import pty
import select
import termios
import threading
from collections.abc import Iterator
from contextlib import contextmanager

import pytest

from toolgate.cli.chat.graphics import TerminalAnswer, answer_in, ask_terminal, is_candidate

KITTY = {"TERM": "xterm-kitty"}
QUESTION = b"\x1b[>q\x1b[c"
VT = b"\x1b[?62;4c"


@contextmanager
def terminal(*answers: bytes) -> Iterator[tuple[int, list[bytes]]]:
    """A pty whose other side answers the question; and what was written to it."""
    master, program = pty.openpty()
    written: list[bytes] = []
    over = threading.Event()

    def answer() -> None:
        while not over.is_set():
            if select.select([master], [], [], 0.02)[0]:
                written.append(os.read(master, 4096))
                for text in answers:
                    os.write(master, text)

    thread = threading.Thread(target=answer)
    thread.start()
    try:
        yield program, written
    finally:
        over.set()
        thread.join()
        os.close(master)
        os.close(program)


@pytest.mark.parametrize(
    ("name", "graphics"),
    [
        ("kitty(0.35.2)", "kitty"),
        ("ghostty 1.1.0", "kitty"),
        ("iTerm2 3.5.11", "iterm2"),
        ("WezTerm 20240203-110809", "iterm2"),
        ("mintty 3.7.1", "iterm2"),
        ("tmux 3.4", None),
        ("XTerm(390)", None),
        ("kittyx 1", None),
    ],
)
def test_the_name_of_the_terminal_decides(name: str, graphics: str | None) -> None:
    with terminal(b"\x1bP>|" + name.encode() + b"\x1b\\", VT) as (program, written):
        before = termios.tcgetattr(program)
        assert ask_terminal(program, program, KITTY) == TerminalAnswer(graphics)  # type: ignore[arg-type]
        assert termios.tcgetattr(program) == before
    assert b"".join(written) == QUESTION


def test_a_terminal_without_the_name_gets_no_pictures() -> None:
    with terminal(VT) as (program, _):
        assert ask_terminal(program, program, KITTY) == TerminalAnswer(None)


def test_a_terminal_that_says_nothing_is_not_waited_for_long() -> None:
    with terminal() as (program, _):
        assert ask_terminal(program, program, KITTY) == TerminalAnswer(None)


def test_what_was_typed_meanwhile_is_kept() -> None:
    assert answer_in(b"he\x1bP>|kitty(0.3)\x1b\\ll" + VT + b"o\r") == TerminalAnswer("kitty", b"hello\r")
    assert answer_in(b"hello") == TerminalAnswer(None, b"hello")


@pytest.mark.parametrize(
    "environment",
    [
        {},
        {"TERM": "xterm-256color"},
        {"TERM": "dumb", "KITTY_WINDOW_ID": "1"},
        {"TERM": "linux", "TERM_PROGRAM": "iTerm.app"},
        {"TERM": "screen-256color", "TERM_PROGRAM": "iTerm.app"},
        {"TERM": "xterm-kitty", "TMUX": "/tmp/tmux-0/default,1,0"},
        {"TERM": "xterm-kitty", "STY": "1.pts"},
        {"TERM": "xterm-256color", "TERM_PROGRAM": "vscode"},
        {"TERM": "eterm-color", "TERM_PROGRAM": "iTerm.app"},
    ],
)
def test_other_terminals_are_not_even_asked(environment: dict[str, str]) -> None:
    assert not is_candidate(environment)
    with terminal(b"\x1bP>|kitty(1)\x1b\\", VT) as (program, written):
        assert ask_terminal(program, program, environment) == TerminalAnswer()
    assert written == []


@pytest.mark.parametrize(
    "environment",
    [
        KITTY,
        {"TERM": "xterm-ghostty"},
        {"TERM": "xterm-256color", "TERM_PROGRAM": "iTerm.app"},
        {"TERM": "xterm-256color", "LC_TERMINAL": "iTerm2"},
        {"TERM": "xterm-256color", "TERM_PROGRAM": "WezTerm", "NO_COLOR": "1"},
    ],
)
def test_terminals_that_may_show_pictures_are_asked(environment: dict[str, str]) -> None:
    assert is_candidate(environment)


def test_what_is_no_terminal_gets_nothing() -> None:
    read, write = os.pipe()
    with terminal() as (program, written):
        assert ask_terminal(program, write, KITTY) == TerminalAnswer()
        assert ask_terminal(read, program, KITTY) == TerminalAnswer()
    with terminal() as (program, first), terminal() as (other, second):
        assert ask_terminal(program, other, KITTY) == TerminalAnswer(), (
            "two terminals: the answer would come from elsewhere"
        )
    assert (written, first, second) == ([], [], [])
    assert not select.select([read], [], [], 0)[0]
    os.close(read)
    os.close(write)
