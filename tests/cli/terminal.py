"""A person at a real terminal: a program on a pty, what its screen shows, and keys."""

import fcntl
import os
import pty
import re
import select
import signal
import struct
import subprocess
import sys
import termios
import time
from pathlib import Path

PROGRAM = str(Path(sys.executable).parent / "toolgate")
_CONTROLS = re.compile(r"\x1b\[[0-?]*[ -/]*[@-~]|\x1b[=>78]|\x1b\][^\x07]*\x07")


class Terminal:
    """A program that believes that it is on a terminal of its own."""

    def __init__(
        self, words: list[str], cwd: Path, environment: dict[str, str], columns: int = 100, program: str = PROGRAM
    ) -> None:
        self.fd, terminal = pty.openpty()
        self.resize(columns, 40)
        self.process = subprocess.Popen(
            [program, *words],
            cwd=cwd,
            stdin=terminal,
            stdout=terminal,
            stderr=terminal,
            start_new_session=True,
            preexec_fn=lambda: fcntl.ioctl(0, termios.TIOCSCTTY, 0),  # so that Ctrl-C is a signal
            env={**os.environ, "TERM": "xterm-256color", "PROMPT_TOOLKIT_NO_CPR": "1", **environment},
        )
        os.close(terminal)
        self.raw = ""
        """Everything that was written to the terminal."""
        self._seen = 0
        """How much of what is legible was waited for already."""

    @property
    def text(self) -> str:
        """Everything legible so far: live rows come as often as they were drawn."""
        return _CONTROLS.sub("", self.raw).replace("\r", "")

    def resize(self, columns: int, rows: int) -> None:
        fcntl.ioctl(self.fd, termios.TIOCSWINSZ, struct.pack("HHHH", rows, columns, 0, 0))

    def type(self, keys: str) -> None:
        os.write(self.fd, keys.encode())

    def until(self, words: str, seconds: float = 40) -> str:
        """What came since the last time, up to and with these words."""
        end = time.monotonic() + seconds
        while (found := self.text.find(words, self._seen)) < 0:
            ready, _, _ = select.select([self.fd], [], [], max(end - time.monotonic(), 0))
            assert ready, f"{words!r} did not appear; there was {self.text[self._seen :]!r}"
            try:
                self.raw += os.read(self.fd, 65536).decode(errors="replace")
            except OSError:
                raise AssertionError(f"the program ended before {words!r}: {self.text[self._seen :]!r}") from None
        before, self._seen = self.text[self._seen : found + len(words)], found + len(words)
        return before

    def press(self, key: str) -> None:
        """One key, pressed by itself."""
        time.sleep(0.1)
        self.type(key)

    def ended(self, seconds: float = 30) -> int:
        """The exit code, once everything is read."""
        end = time.monotonic() + seconds
        while self.process.poll() is None and time.monotonic() < end:
            ready, _, _ = select.select([self.fd], [], [], 0.1)
            if ready:
                try:
                    self.raw += os.read(self.fd, 65536).decode(errors="replace")
                except OSError:
                    break
        return self.process.wait(max(end - time.monotonic(), 1))

    def close(self) -> None:
        if self.process.poll() is None:
            os.killpg(self.process.pid, signal.SIGKILL)
        self.process.wait()
        os.close(self.fd)
