"""The keyboard while nobody edits a line: keys come one by one, are not echoed, and wait for the next prompt."""

from __future__ import annotations

import asyncio
import codecs
import os
import re
import signal
import termios
from collections.abc import Callable
from types import TracebackType
from typing import Self, TextIO

_SEQUENCE = re.compile(r"\x1b(?:\[[0-?]*[ -/]*[@-~]|O.|.)?", re.DOTALL)
_MOST = 10_000
ECHO, LFLAG, CC = termios.ECHO | termios.ICANON, 3, 6


class Keyboard:
    """Takes the keys of a terminal. Ctrl-C stays what it is: a signal."""

    def __init__(self, source: TextIO) -> None:
        self._fd = source.fileno()
        self._before: list[object] | None = None
        self._decoder = codecs.getincrementaldecoder("utf-8")("replace")
        self.typed = ""
        """What was typed while nobody asked."""
        self.on_key: Callable[[str], None] | None = None
        """Who gets the keys instead."""

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
        if self._before is not None:
            termios.tcsetattr(self._fd, termios.TCSADRAIN, self._before)  # type: ignore[arg-type]

    def forget(self) -> None:
        """What was typed before a question was on the screen is no answer to it."""
        termios.tcflush(self._fd, termios.TCIFLUSH)

    def taken(self) -> str:
        """What was typed ahead, for the prompt; it is there once, and Enter sends it."""
        text, self.typed = self.typed, ""
        return text.rstrip("\n")

    def _take(self) -> None:
        attributes = termios.tcgetattr(self._fd)
        attributes[LFLAG] &= ~ECHO
        attributes[CC][termios.VMIN], attributes[CC][termios.VTIME] = 1, 0
        termios.tcsetattr(self._fd, termios.TCSADRAIN, attributes)

    def _read(self) -> None:
        try:
            data = os.read(self._fd, 4096)
        except OSError:  # the terminal is gone
            data = b""
        if not data:
            asyncio.get_running_loop().remove_reader(self._fd)
            return
        text = _SEQUENCE.sub("", self._decoder.decode(data))
        for key in text:
            if self.on_key is not None:
                self.on_key(key)
            else:
                self.keep(key)

    def keep(self, keys: str) -> None:
        """Keep what was typed for the next prompt."""
        for key in keys:
            if key in ("\x7f", "\b"):
                self.typed = self.typed[:-1]
            elif (key.isprintable() or key in "\n\r") and len(self.typed) < _MOST:
                self.typed += "\n" if key == "\r" else key
