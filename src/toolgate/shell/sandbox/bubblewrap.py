"""The first layer: bubblewrap, a small set-up program for namespaces that distributions ship and audit."""

from __future__ import annotations

import os
import signal
import subprocess
from functools import cache

from toolgate.protocol.plan import Access
from toolgate.shell.executables import bubblewrap_candidates, find_bash
from toolgate.shell.sandbox.layer import Wrapper, guarantees, memory_file
from toolgate.shell.sandbox.plan import Mount, View

_NAMESPACES = ("--unshare-user", "--unshare-ipc", "--unshare-pid", "--unshare-uts", "--unshare-cgroup-try")
_FIXED = ("--die-with-parent", "--new-session", "--cap-drop", "ALL")
_PATIENCE = 10.0


class Bubblewrap:
    """Confines with the `bwrap` program."""

    name = "bwrap"
    mounts = True
    ends_with = signal.SIGKILL

    def __init__(self, program: str, *, nested: bool, descriptors: bool = False) -> None:
        self.program = program
        self._descriptors = descriptors
        """Whether it can mount an open descriptor; otherwise only the finished view tells what was mounted."""
        self.start = [program, *_NAMESPACES, *_FIXED, *(() if nested else ("--disable-userns",))]

    def refuses(self, access: Access) -> str | None:
        """It can enforce every access."""
        return None

    def wrap(self, view: View, info_fd: int) -> Wrapper:
        """bwrap, which reads its options from a descriptor: the command need not see the host's paths in `ps`."""
        words = ["--info-fd", str(info_fd)]
        if not view.network:
            words.append("--unshare-net")
        for mount in view.mounts:
            words += self._option(mount)
        words += ["--chdir", view.directory]
        fd = memory_file("arguments", b"\0".join(os.fsencode(word) for word in words) + b"\0")
        sources = tuple(mount.source_fd for mount in view.mounts if mount.source_fd >= 0 and self._descriptors)
        return Wrapper([*self.start, "--args", str(fd), "--"], (fd,), sources)

    def _option(self, mount: Mount) -> list[str]:
        if mount.source_fd >= 0 and self._descriptors:
            return ["--ro-bind-fd" if mount.kind == "ro" else "--bind-fd", str(mount.source_fd), mount.target]
        return _option(mount)

    def enforced(self, access: Access) -> tuple[str, ...]:
        """What the namespaces and mounts hold."""
        return guarantees(access)

    def missing(self, access: Access) -> tuple[str, ...]:
        """Nothing that one would expect."""
        return ()


def _option(mount: Mount) -> list[str]:
    match mount.kind:
        case "ro":
            return ["--ro-bind", mount.source, mount.target]
        case "rw":
            return ["--bind", mount.source, mount.target]
        case "symlink":
            return ["--symlink", mount.source, mount.target]
        case "seal":
            return ["--remount-ro", mount.target]
        case kind:
            return [f"--{kind}", mount.target]


def find_bubblewrap(writable: tuple[str, ...] = (), setting: str | None = None) -> Bubblewrap | None:
    """The first bwrap that can really make a sandbox; each is tried once per process and user."""
    candidates = bubblewrap_candidates(setting, writable)
    return next((layer for path in candidates if (layer := _try_bubblewrap(path, os.geteuid())) is not None), None)


@cache
def _try_bubblewrap(program: str, _user: int) -> Bubblewrap | None:
    shell = find_bash((), "/usr/bin:/bin")
    descriptors = _binds_descriptors(program)
    for nested in (False, True):
        layer = Bubblewrap(program, nested=nested, descriptors=descriptors)
        trial = [
            *layer.start,
            "--unshare-net",
            "--ro-bind",
            "/",
            "/",
            "--proc",
            "/proc",
            "--dev",
            "/dev",
            shell,
            "-c",
            ":",
        ]
        try:
            done = subprocess.run(trial, capture_output=True, stdin=subprocess.DEVNULL, timeout=_PATIENCE, check=False)
        except (OSError, subprocess.TimeoutExpired):
            return None
        if done.returncode == 0:
            return layer
    return None


def _binds_descriptors(program: str) -> bool:
    """Whether this bwrap has the options; it closes the descriptors before the command runs."""
    try:
        done = subprocess.run([program, "--help"], capture_output=True, timeout=_PATIENCE, check=False)
    except (OSError, subprocess.TimeoutExpired):
        return False
    return b"--ro-bind-fd" in done.stdout
