"""`Console`: the input of a job, and what it shows: a terminal, or a pipe."""

from __future__ import annotations

import asyncio
import errno
import os
import re
import select
import struct
import time
from collections.abc import Callable
from functools import partial
from typing import Literal

from toolgate.errors import ToolError
from toolgate.process.terminal_input import waits_for_input
from toolgate.protocol.codes import ErrorCode
from toolgate.shell.screen import Screen
from toolgate.shell.screen_parser import ScreenParser
from toolgate.system import fcntl, termios
from toolgate.text.terminal import decode_output

COLUMNS, ROWS = 80, 24
MAX_SIZE = 500
"""Most columns or rows."""
_MAX_UNREAD = 64 * 1024
"""Bytes that may wait for a program that does not read."""
_LINE = 4095
"""Bytes of one line that the kernel's line editor takes."""
_RECENT = 64 * 1024
"""Bytes of output that are kept for the next look."""

_SETTLED = 0.015
"""Seconds without output before and between the two looks that find out whether the program waits for input."""

Kind = Literal["tty", "pipe"]
Outcome = Literal["found", "quiet", "ended", "timeout"]


class Console:
    """What is typed into one job, and what it shows.

    The process owns the descriptor: it calls `attach` before the job runs, and `close` when its descriptors go.
    """

    def __init__(self, kind: Kind, columns: int = COLUMNS, rows: int = ROWS) -> None:
        self.kind: Kind = kind
        self.screen = Screen(columns, rows)
        self.typed = ""
        """Everything that was accepted as input, as the analysis of commands reads it."""
        self._parser = ScreenParser(self.screen, self._reply)
        self._loop = asyncio.get_running_loop()
        self._fd = -1
        self._end: Callable[[], None] = lambda: None
        self._unsent = b""
        self._is_writer = False
        """Whether the loop writes what waits."""
        self._ending = False
        self._recent = b""
        self._waiting: list[asyncio.Future[None]] = []
        self.changed = 0.0
        """When the job last printed something."""

    def attach(self, fd: int, end: Callable[[], None]) -> None:
        """Write to this descriptor from now on. `end` closes it, which ends the input of a pipe."""
        self._fd, self._end = fd, end
        if self.kind == "tty":
            self._set_size()

    def close(self) -> None:
        """Write no more."""
        if self._is_writer and self._fd >= 0:
            self._loop.remove_writer(self._fd)
            self._is_writer = False
        self._fd, self._unsent = -1, b""
        self.wake()

    def show(self, chunk: bytes) -> None:
        """Take what the job printed."""
        if self.kind == "tty":
            self._parser.feed(chunk)
        self._recent = (self._recent + chunk)[-_RECENT:]
        self.changed = time.monotonic()
        self.wake()

    def wake(self) -> None:
        """Let those look who wait for a change."""
        waiting, self._waiting = self._waiting, []
        for one in waiting:
            _settle(one)

    def take_recent(self) -> str:
        """What the job has printed since the last look."""
        recent, self._recent = self._recent, b""
        return decode_output(recent)

    def shows(self, text: str, *, already: bool) -> bool:
        """Whether a text was printed since the last look; with `already` also whether the screen shows it.

        The screen has no blanks at the end of a line.
        """
        if text.replace("\n", "\r\n").encode() in self._recent:  # mostly it is there without any escapes
            return True
        if text in decode_output(self._recent):
            return True
        return already and bool(text.strip()) and text.rstrip(" ") in self.screen.text()

    def check(self, text: str) -> None:
        """Refuse input that would not arrive whole."""
        if self._fd < 0 or self._ending:
            raise ToolError(
                ErrorCode.EXECUTION_ERROR,
                "The job takes no more input: its input was closed, or it has ended.",
                "Look at it with 'jobs output ID', or start it again.",
            )
        size = len(text.encode())
        if len(self._unsent) + size > _MAX_UNREAD:
            raise ToolError(
                ErrorCode.EXECUTION_ERROR,
                f"The job does not read its input: {len(self._unsent):,} bytes wait already. Nothing was sent.",
                f"Wait until it reads, stop it, or write less than {_MAX_UNREAD:,} bytes at a time.",
            )
        if self.kind == "tty" and self._edits_lines() and any(len(line.encode()) > _LINE for line in _lines(text)):
            raise ToolError(
                ErrorCode.INVALID_PARAM,
                f"A line of the text is longer than {_LINE:,} bytes, which a terminal cuts. Nothing was sent.",
                "Write it to a file and have the program read that, or use background=true without tty.",
            )

    def send(self, text: str) -> None:
        """Send input that was checked. What the program does not read yet waits."""
        self._push(text.encode())

    def end_input(self) -> None:
        """Close the input of a pipe, after what still waits."""
        self._ending = True
        if not self._unsent:
            self._close_input()

    def _close_input(self) -> None:
        self._fd = -1
        self._end()

    def resize(self, columns: int, rows: int) -> None:
        """Change the size of the terminal. The kernel tells the program."""
        self.screen.resize(columns, rows)
        if self._fd >= 0 and self.kind == "tty":
            self._set_size()

    async def wait(
        self,
        ended: asyncio.Future[None],
        *,
        timeout: float,
        quiet: float | None = None,
        speaks: bool = False,
        text: str = "",
        already: bool = True,
        reacts: bool = False,
    ) -> Outcome:
        """Wait until the job prints a text, or nothing for `quiet` seconds, or ends, or until the timeout.

        A program in a terminal that waits for input is quiet sooner; with `reacts` only after it has printed something.
        `already` lets a text count that the screen shows already. `speaks`: it is not quiet before its first output.
        """
        begin = time.monotonic()
        reading = -1.0  # what `changed` was when the program was seen waiting for input
        while True:
            # a full-screen program draws only what changed, so what counts is its screen after the change
            drawn = self.screen.is_alternate and self.changed > begin
            if text and self.shows(text, already=already or drawn):
                return "found"
            if ended.done():
                return "ended"
            now = time.monotonic()
            left = begin + timeout - now
            if quiet is not None and (self.changed or not speaks):
                left = min(left, max(self.changed, begin) + quiet - now)
            if quiet is not None and (self.changed > begin or not reacts):
                if now >= self.changed + _SETTLED and self._waits_for_input():
                    if reading == self.changed:
                        return "quiet"
                    reading = self.changed  # its last output may take a moment to arrive: look a second time
                left = min(left, max(self.changed + _SETTLED - now, _SETTLED))
            if left <= 0:
                return "timeout" if now >= begin + timeout else "quiet"
            await self._change(ended, left)

    def _waits_for_input(self) -> bool:
        if self.kind != "tty" or self._fd < 0 or self._unsent:
            return False
        return waits_for_input(self._fd) and not self._has_output()

    def _has_output(self) -> bool:
        """Whether output has not been read yet. To be asked after the program was seen waiting: the poll has the kernel
        deliver what the program wrote before, which takes long on a busy machine.
        """
        poll = select.poll()
        poll.register(self._fd, select.POLLIN)
        return bool(poll.poll(0))

    async def _change(self, ended: asyncio.Future[None], seconds: float) -> None:
        """Wait until something changes, the job ends, or the time is over: a key takes half as long as with `wait`."""
        change: asyncio.Future[None] = self._loop.create_future()
        self._waiting.append(change)
        timer = self._loop.call_later(seconds, _settle, change)
        settle = partial(_settle, change)
        ended.add_done_callback(settle)
        try:
            await change
        finally:
            timer.cancel()
            ended.remove_done_callback(settle)

    def _set_size(self) -> None:
        size = struct.pack("HHHH", self.screen.rows, self.screen.columns, 0, 0)
        fcntl.ioctl(self._fd, termios.TIOCSWINSZ, size)

    def _edits_lines(self) -> bool:
        """Whether the kernel collects whole lines for the program."""
        try:
            return bool(termios.tcgetattr(self._fd)[3] & termios.ICANON)
        except termios.error:
            return True

    def _reply(self, answer: bytes) -> None:
        """Answer a question of the program about its terminal."""
        if self._fd >= 0 and len(self._unsent) < _MAX_UNREAD:
            self._push(answer)

    def _push(self, data: bytes) -> None:
        waited, self._unsent = bool(self._unsent), self._unsent + data
        if not waited and self._unsent:
            self._flush()

    def _flush(self) -> None:
        fd, before = self._fd, self._unsent
        if self._is_writer:
            self._loop.remove_writer(fd)
            self._is_writer = False
        try:
            while self._unsent:
                self._unsent = self._unsent[os.write(fd, self._unsent) :]
        except BlockingIOError:
            self._loop.add_writer(fd, self._flush)
            self._is_writer = True
        except OSError as error:  # it has ended, or closed its input: callers that wait for it notice
            if error.errno not in (errno.EPIPE, errno.EIO):
                raise
            self._unsent = b""
            self._fd = -1
        if before and not self._unsent:
            if self._ending and self._fd >= 0:
                self._close_input()
            self.wake()


def _settle(change: asyncio.Future[None], _: object = None) -> None:
    if not change.done():
        change.set_result(None)


def _lines(text: str) -> list[str]:
    return re.split(r"[\r\n\x04]", text)
