"""Reads keys while no line is edited: one by one, without echo, and kept for later."""

from __future__ import annotations

import asyncio
import codecs
import os
import re
import signal
import termios
from collections.abc import Callable, Iterator
from types import TracebackType
from typing import Self, TextIO

from toolgate.cli.chat.typed_ahead import BACK, ENTER, TypedAhead

_KEY = re.compile(r"\x1b(?:\[[0-?]*[ -/]*[@-~]|O.|.)?|.", re.DOTALL)
_UNFINISHED = re.compile(r"\x1b\[[0-?]*[ -/]*\Z")
_UP = ("\x1b[A", "\x1bOA")
_SHIFT_TAB = "\x1b[Z"
_PASTE_START, _PASTE_END = "\x1b[200~", "\x1b[201~"
_BRACKETED_PASTE_ON, _BRACKETED_PASTE_OFF = "\x1b[?2004h", "\x1b[?2004l"
"""Terminal sequences that switch bracketed paste on and off. While it is on, pasted text is marked."""
ECHO, LFLAG, CC = termios.ECHO | termios.ICANON, 3, 6


class Keyboard:
    """Reads the keys of a terminal. Ctrl-C remains a signal."""

    def __init__(self, source: TextIO, out: TextIO) -> None:
        self._fd = source.fileno()
        self._out = out
        self._before: list[object] | None = None
        self._decoder = codecs.getincrementaldecoder("utf-8")("replace")
        self._unread = ""
        """The start of an incomplete escape sequence or paste."""
        self.typed_ahead = TypedAhead()
        """Input that was typed while a turn runs."""
        self.on_key: Callable[[str], None] | None = None
        """Called instead with each key, or with all of a pasted text."""
        self.on_shift_tab: Callable[[], object] = lambda: None
        """Called for Shift-Tab, also while a question is open."""

    def __enter__(self) -> Self:
        self._before = termios.tcgetattr(self._fd)
        self._enter_raw_mode()
        loop = asyncio.get_running_loop()
        loop.add_reader(self._fd, self._read)
        loop.add_signal_handler(signal.SIGCONT, self._enter_raw_mode)
        return self

    def __exit__(
        self, kind: type[BaseException] | None, value: BaseException | None, trace: TracebackType | None
    ) -> None:
        loop = asyncio.get_running_loop()
        loop.remove_reader(self._fd)
        loop.remove_signal_handler(signal.SIGCONT)
        self._out.write(_BRACKETED_PASTE_OFF)
        self._out.flush()
        if self._before is not None:
            termios.tcsetattr(self._fd, termios.TCSADRAIN, self._before)  # type: ignore[arg-type]

    def forget(self) -> None:
        """Discard input that was typed before a question was on the screen."""
        termios.tcflush(self._fd, termios.TCIFLUSH)

    def _enter_raw_mode(self) -> None:
        attributes = termios.tcgetattr(self._fd)
        attributes[LFLAG] &= ~ECHO
        attributes[CC][termios.VMIN], attributes[CC][termios.VTIME] = 1, 0
        termios.tcsetattr(self._fd, termios.TCSADRAIN, attributes)
        self._out.write(_BRACKETED_PASTE_ON)
        self._out.flush()

    def _read(self) -> None:
        try:
            data = os.read(self._fd, 4096)
        except OSError:  # the terminal was closed
            data = b""
        if not data:
            asyncio.get_running_loop().remove_reader(self._fd)
            return
        self.feed(data)

    def feed(self, data: bytes) -> None:
        """Handle what was typed."""
        for key in self._keys(self._unread + self._decoder.decode(data)):
            if key == _SHIFT_TAB:
                self.on_shift_tab()
            else:
                (self.on_key or self.typed_ahead.key)(key)

    def _keys(self, text: str) -> Iterator[str]:
        """Yield keys: Enter, Esc (or Up), characters, and pasted text as a whole."""
        self._unread = ""
        while text:
            typed, paste, text = text.partition(_PASTE_START)
            if not paste and (unfinished := _UNFINISHED.search(typed)):
                typed, self._unread = typed[: unfinished.start()], unfinished.group()
            yield from filter(None, map(_normalize_key, _KEY.findall(typed)))
            if paste:
                pasted, end, text = text.partition(_PASTE_END)
                if not end:
                    self._unread = paste + pasted
                    return
                yield pasted.replace("\r\n", "\n").replace("\r", "\n")


def _normalize_key(key: str) -> str:
    if key in ("\r", "\n"):
        return ENTER
    if key in ("\x1b\r", "\x1b\n"):
        return "\n"  # Alt-Enter starts a new line
    if key == "\x1b" or key in _UP:
        return BACK
    return "" if key.startswith("\x1b") and key != _SHIFT_TAB else key
