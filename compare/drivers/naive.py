"""The control: what a few lines of Python do without any care."""

from __future__ import annotations

import subprocess
from pathlib import Path

from compare.driver import Answer, Driver


class Contender(Driver):
    """Plain files and a plain shell."""

    limits_time = True

    def read(self, path: str) -> Answer:
        """Read all of it."""
        return Answer(Path(self.root, path).read_text(errors="replace"))

    def write(self, path: str, text: str) -> Answer:
        """Write in place."""
        Path(self.root, path).write_text(text)
        return Answer("written")

    def edit(self, path: str, old: str, new: str) -> Answer:
        """Read, replace, write in place."""
        before = Path(self.root, path).read_text()
        if old not in before:
            return Answer("not found", failed=True)
        return self.write(path, before.replace(old, new, 1))

    def run(self, command: str, seconds: float) -> Answer:
        """A shell, and all of its output in memory."""
        done = subprocess.run(
            command, shell=True, cwd=self.root, timeout=seconds, capture_output=True, text=True, check=False
        )
        return Answer(done.stdout + done.stderr, failed=done.returncode != 0)
