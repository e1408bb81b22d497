"""The keyboard while nobody edits a line: keys come one by one, are not echoed, and are kept for what comes next."""

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

from toolgate.cli.chat.typed_ahead import BACK, ENTER, Ahead

_KEY = re.compile(r"\x1b(?:\[[0-?]*[ -/]*[@-~]|O.|.)?|.", re.DOTALL)
_UNFINISHED = re.compile(r"\x1b\[[0-?]*[ -/]*\Z")
_UP = ("\x1b[A", "\x1bOA")
_PASTE, _PASTED = "\x1b[200~", "\x1b[201~"
_MARKING, _UNMARKED = "\x1b[?2004h", "\x1b[?2004l"
"""From here on the terminal says where what is pasted begins and ends."""
ECHO, LFLAG, CC = termios.ECHO | termios.ICANON, 3, 6


class Keyboard:
    """Takes the keys of a terminal. Ctrl-C stays what it is: a signal."""

    def __init__(self, source: TextIO, out: TextIO) -> None:
        self._fd = source.fileno()
        self._out = out
        self._before: list[object] | None = None
        self._decoder = codecs.getincrementaldecoder("utf-8")("replace")
        self._unread = ""
        """The beginning of a sequence, or of something pasted, whose end has not come yet."""
        self.ahead = Ahead()
        """What was written while nobody asked."""
        self.on_key: Callable[[str], None] | None = None
        """Who gets the keys instead: one each, or all of a text that was pasted."""

    def __enter__(self) -> Self:
        self._before = termios.tcgetattr(self._fd)
        self._take()
        loop = asyncio.get_running_loop()
        loop.add_reader(self._fd, self._read)
        loop.add_signal_handler(signal.SIGCONT, self._take)
        return self

    def __exit__(
        self, kind: type[BaseException] | None, value: BaseException | None, trace: TracebackType | None
    ) -> None:
        loop = asyncio.get_running_loop()
        loop.remove_reader(self._fd)
        loop.remove_signal_handler(signal.SIGCONT)
        self._out.write(_UNMARKED)
        self._out.flush()
        if self._before is not None:
            termios.tcsetattr(self._fd, termios.TCSADRAIN, self._before)  # type: ignore[arg-type]

    def forget(self) -> None:
        """What was typed before a question was on the screen is no answer to it."""
        termios.tcflush(self._fd, termios.TCIFLUSH)

    def _take(self) -> None:
        attributes = termios.tcgetattr(self._fd)
        attributes[LFLAG] &= ~ECHO
        attributes[CC][termios.VMIN], attributes[CC][termios.VTIME] = 1, 0
        termios.tcsetattr(self._fd, termios.TCSADRAIN, attributes)
        self._out.write(_MARKING)
        self._out.flush()

    def _read(self) -> None:
        try:
            data = os.read(self._fd, 4096)
        except OSError:  # the terminal is gone
            data = b""
        if not data:
            asyncio.get_running_loop().remove_reader(self._fd)
            return
        for key in self._keys(self._unread + self._decoder.decode(data)):
            (self.on_key or self.ahead.key)(key)

    def _keys(self, text: str) -> Iterator[str]:
        """Keys as they are meant: Enter, Esc (or Up), characters, and what was pasted as one."""
        self._unread = ""
        while text:
            typed, paste, text = text.partition(_PASTE)
            if not paste and (unfinished := _UNFINISHED.search(typed)):
                typed, self._unread = typed[: unfinished.start()], unfinished.group()
            yield from filter(None, map(_meant, _KEY.findall(typed)))
            if paste:
                pasted, end, text = text.partition(_PASTED)
                if not end:
                    self._unread = paste + pasted
                    return
                yield pasted.replace("\r\n", "\n").replace("\r", "\n")


def _meant(key: str) -> str:
    if key in ("\r", "\n"):
        return ENTER
    if key in ("\x1b\r", "\x1b\n"):
        return "\n"  # Alt-Enter begins another line
    if key == "\x1b" or key in _UP:
        return BACK
    return "" if key.startswith("\x1b") else key
