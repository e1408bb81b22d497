"""Runs what the examples in docker/ and deploy/ say: as processes, each in a root of its own.

There is no container engine here. bubblewrap gives every process what the image and the files promise: the user, the
working directory, the variables, the volumes at their paths, a root that cannot be written to. Replaced are only the
host of the database and the ports, for all of them share one network.
"""

import json
import os
import re
import signal
import socket
import subprocess
import sys
import time
import urllib.error
import urllib.request
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field
from pathlib import Path
from typing import IO, Any

from tests.distributed.deployment import ROOT, Container, Image, image

SYSTEM = ("/usr", "/bin", "/sbin", "/lib", "/lib64", "/etc", "/sys")


def free_port() -> int:
    with socket.create_server(("127.0.0.1", 0)) as found:
        return int(found.getsockname()[1])


@dataclass
class Running:
    """A container that was started."""

    container: Container
    popen: subprocess.Popen[bytes]
    log: Path
    port: int
    pid: int
    ported: Callable[[str], str]
    status: IO[str]
    """What bubblewrap says; it dies if nobody would read it."""

    @property
    def output(self) -> str:
        return self.log.read_text(errors="replace")

    def healthy(self) -> bool:
        """Whether every check passes now."""
        assert self.popen.poll() is None, self.output
        return all(self._passes(check) for check in self.container.checks)

    def _passes(self, check: Any) -> bool:
        if isinstance(check, list):
            words = [self.ported(word) for word in check]
            environ = {"PATH": f"{Path(sys.executable).parent}:{os.environ['PATH']}"}
            return subprocess.run(words, env=environ, capture_output=True, timeout=30, check=False).returncode == 0
        headers = {pair["name"]: self.ported(pair["value"]) for pair in check.get("httpHeaders", [])}
        place = self.ported(f"http://127.0.0.1:{check['port']}{check['path']}")
        try:
            with urllib.request.urlopen(urllib.request.Request(place, headers=headers), timeout=60) as answer:
                return bool(answer.status == 200)
        except (urllib.error.URLError, OSError):
            return False

    def end(self) -> float:
        """Tell it to end, and wait as long as whoever runs it would; how long it took."""
        begun = time.monotonic()
        os.kill(self.pid, signal.SIGTERM)
        self.popen.wait(self.container.grace)
        return time.monotonic() - begun


@dataclass
class Host:
    """Runs containers."""

    base: Path
    running: list[Running] = field(default_factory=list)

    def volume(self, place: str) -> Path:
        """What is mounted at a path, for every container that mounts it."""
        path = self.base / f"volume{place.replace('/', '-')}"
        path.mkdir(exist_ok=True)
        return path

    def start(self, container: Container, **more: str) -> Running:
        """One replica of it."""
        made, port = image(), free_port()
        own = next(word for word in (*container.words, *made.environment.values()) if word in ("8765", "8766"))

        def ported(text: str) -> str:
            return re.sub(rf"\b{own}\b", str(port), text)

        environ = {"PATH": f"{Path(sys.executable).parent}:/usr/bin:/bin", **made.environment, **container.environment}
        log = self.base / f"{container.name}-{len(self.running)}.log"
        reading, writing = os.pipe()
        with log.open("wb") as output:
            popen = subprocess.Popen(
                [
                    *("bwrap", "--json-status-fd", str(writing), *self._root(container, made), "--clearenv"),
                    *(
                        word
                        for name, value in {**environ, **more}.items()
                        for word in ("--setenv", name, ported(value))
                    ),
                    *(ported(word) for word in container.words),
                ],
                stdout=output,
                stderr=subprocess.STDOUT,
                pass_fds=(writing,),
            )
        os.close(writing)
        status = os.fdopen(reading)
        line = status.readline()
        assert line, log.read_text()
        started = Running(container, popen, log, port, json.loads(line)["child-pid"], ported, status)
        self.running.append(started)
        return started

    def _root(self, container: Container, made: Image) -> Iterator[str]:
        """A root as the image has it: the system, this checkout in the place of what pip installs, and the volumes."""
        user, _, group = made.user.partition(":")
        yield from (
            "--unshare-user",
            "--unshare-ipc",
            "--unshare-uts",
            "--uid",
            user,
            "--gid",
            group,
            "--cap-drop",
            "ALL",
        )
        for place in SYSTEM:
            if os.path.islink(place):
                yield from ("--symlink", os.readlink(place), place)
            elif os.path.exists(place):
                yield from ("--ro-bind", place, place)
        yield from ("--bind", "/proc", "/proc", "--dev", "/dev")
        yield from ("--tmpfs", "/tmp") if "/tmp" in container.mounts else ("--dir", "/tmp")
        yield from ("--dir", made.environment["HOME"])
        for place in made.places:
            yield from ("--bind", str(self.volume(place)), place) if place in container.mounts else ("--dir", place)
        for place in dict.fromkeys(
            (str(ROOT), sys.prefix, sys.base_prefix)
        ):  # last: it may lie beneath one of the others
            yield from ("--ro-bind", place, place)
        yield from ("--remount-ro", "/") if container.read_only else ()
        yield from ("--chdir", made.directory)

    def logs(self) -> str:
        return "\n".join(f"--- {one.log.name}\n{one.output[-3000:]}" for one in self.running)

    def close(self) -> None:
        for one in self.running:
            if one.popen.poll() is None:
                os.kill(one.pid, signal.SIGKILL)
            one.popen.wait(60)
            one.status.close()
