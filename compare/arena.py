"""The directories of a case (a project, and one outside it with a secret), and the contender that is tried."""

from __future__ import annotations

import contextlib
import json
import os
import secrets
import select
import shutil
import signal
import subprocess
import tempfile
import time
from collections import defaultdict
from collections.abc import Iterator, Mapping
from pathlib import Path
from types import TracebackType
from typing import Any

from benchmarks.harness import QUIET
from compare.contenders import Contender

CHECKOUT = Path(__file__).resolve().parents[1]
MARK = "COMPARE_RUN"
"""Every process that a contender starts inherits this variable, unless the contender takes it away."""


def _environment(process: Path) -> bytes:
    """The environment of a process; it reads as empty for a moment while the process becomes another program."""
    for _ in range(20):
        if found := (process / "environ").read_bytes():
            return found
        (process / "exe").readlink()  # a thread of the kernel has none, and no environment
        time.sleep(0.001)
    return b""


class Hung(Exception):
    """The contender did not answer in time."""


class Ended(Exception):
    """The contender's process ended instead of answering."""


class Tools:
    """A contender's process, and its tools."""

    def __init__(self, contender: Contender, environment: dict[str, str], log: Path) -> None:
        self._log = log
        with log.open("ab") as errors:
            self._process = subprocess.Popen(
                [*contender.interpreter(), "-m", "compare.worker", contender.module],
                stdin=subprocess.PIPE,
                stdout=subprocess.PIPE,
                stderr=errors,
                cwd=environment["HOME"],
                env=environment,
                text=True,
                start_new_session=True,
            )
        self.pid = self._process.pid
        self.abilities: list[str] = self._answer(180.0)["abilities"]

    def ask(self, do: str, wait: float = 60.0, **arguments: Any) -> dict[str, Any]:
        """Send one request and wait for the answer."""
        assert self._process.stdin is not None
        try:
            self._process.stdin.write(json.dumps({"do": do, **arguments}) + "\n")
            self._process.stdin.flush()
        except BrokenPipeError:
            pass  # what it said before it ended is still there to read
        answer = self._answer(wait)
        if "error" in answer:
            raise RuntimeError(answer["error"])
        return answer

    def open(self, root: Path, *, allows: bool) -> None:
        """Open the tools on a project, with a person who always gives the same answer."""
        self.ask("open", root=str(root), allows=allows)

    def _answer(self, wait: float) -> dict[str, Any]:
        assert self._process.stdout is not None
        ready, _, _ = select.select([self._process.stdout], [], [], wait)
        if not ready:
            raise Hung(f"no answer within {wait:.0f} s")
        line = self._process.stdout.readline()
        if not line:
            raise Ended(self._log.read_text(errors="replace")[-1_500:])
        answer: dict[str, Any] = json.loads(line)
        return answer

    def close(self) -> None:
        """End the process, if it still runs."""
        assert self._process.stdin is not None
        assert self._process.stdout is not None
        with contextlib.suppress(BrokenPipeError):
            self._process.stdin.close()
        try:
            self._process.wait(3)
        except subprocess.TimeoutExpired:
            with contextlib.suppress(ProcessLookupError):
                os.killpg(self._process.pid, signal.SIGKILL)
            self._process.wait()
        self._process.stdout.close()


class Arena:
    """A temporary directory for one case and one contender; everything in it is removed, and every process ended."""

    def __init__(self, contender: Contender, *, quick: bool = False, seconds: float = 60.0) -> None:
        self.contender, self.quick, self.seconds = contender, quick, seconds
        self._folder = Path(tempfile.mkdtemp(prefix="compare-"))
        self.base = self._folder / "place"
        self.log = self._folder / "log.txt"
        self.run = secrets.token_hex(8)
        self.fresh()

    def fresh(self) -> None:
        """Empty the directories: `root` is the project, `outside` must not be reached, `home` is the home directory."""
        shutil.rmtree(self.base, ignore_errors=True)
        self.root, self.outside, self.home = self.base / "root", self.base / "root-other", self.base / "home"
        for directory in (self.root, self.outside, self.home):
            directory.mkdir(parents=True)
        self.secret = secrets.token_hex(16)
        (self.outside / "secret.txt").write_text(self.secret + "\n")

    @contextlib.contextmanager
    def tools(
        self, *, allows: bool = True, opened: bool = True, environment: Mapping[str, str] | None = None
    ) -> Iterator[Tools]:
        """The contender on the project, with a person who allows (or refuses) everything."""
        variables = {
            "PATH": os.environ["PATH"],
            "HOME": str(self.home),
            "LANG": "C.UTF-8",
            "PYTHONPATH": str(CHECKOUT),
            "PYTHONDONTWRITEBYTECODE": "1",
            MARK: self.run,
        }
        started = Tools(self.contender, variables | QUIET | dict(environment or {}), self.log)
        try:
            if opened:
                started.open(self.root, allows=allows)
            yield started
        finally:
            started.close()
            self.end_processes()

    def processes(self) -> list[int]:
        """The processes of this contender that are still there: those with the mark, and their descendants."""
        marked, children = [], defaultdict(list)
        for entry in Path("/proc").iterdir():
            if entry.name.isdigit() and int(entry.name) != os.getpid():
                with contextlib.suppress(OSError, IndexError):
                    parent = (entry / "stat").read_bytes().rpartition(b")")[2].split()[1]
                    children[int(parent)].append(int(entry.name))
                    if f"{MARK}={self.run}".encode() in _environment(entry).split(b"\0"):
                        marked.append(int(entry.name))
        found: dict[int, None] = {}
        while marked:
            pid = marked.pop()
            if pid not in found:
                found[pid] = None
                marked += children[pid]
        return list(found)

    def end_processes(self) -> None:
        """Kill what is left."""
        deadline = time.monotonic() + 10
        while (left := self.processes()) and time.monotonic() < deadline:
            for pid in left:
                with contextlib.suppress(ProcessLookupError):
                    os.kill(pid, signal.SIGKILL)
            time.sleep(0.05)

    def __enter__(self) -> Arena:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self.end_processes()
        shutil.rmtree(self._folder, ignore_errors=True)
