"""Starts a process that can only read, and only in the given directories. The kernel enforces this."""

import os
import threading
from collections.abc import Sequence
from dataclasses import dataclass

from toolgate.process import landlock
from toolgate.process.start import EMPTY, PIPE, Process, start_process
from toolgate.workspace.threads import start_thread

_SYSTEM = ("/usr", "/bin", "/lib", "/lib64", "/etc/ld.so.cache", "/nix/store")
"""What a dynamically linked program needs: the loader, libraries, or an interpreter."""
_ENVIRONMENT = {"PATH": "/usr/bin:/bin", "LC_ALL": "C.UTF-8"}


@dataclass(frozen=True, slots=True, kw_only=True)
class ReadOnlyCommand:
    """What to start, and where."""

    argv: Sequence[str]
    directory: int | None
    """Descriptor of the directory to start in; None for `/`."""
    stdin: int | None = None
    """Descriptor of the standard input; None for an empty one."""
    pass_fds: tuple[int, ...] = ()
    readable: tuple[int | str, ...] | None = None
    """The only directories and files that it may read, besides its own program: descriptors, or paths outside of every
    project. None: no restriction."""


def start(command: ReadOnlyCommand) -> Process:
    """Start it with a minimal environment. Raises `OSError`."""
    if command.readable is None or landlock.version() == 0:
        return _popen(command)
    started: list[Process] = []
    failed: list[BaseException] = []
    thread = threading.Thread(target=_restricted, args=(command, started, failed), name="toolgate-spawn", daemon=True)
    start_thread(thread)
    thread.join()
    if failed:
        raise failed[0]
    return started[0]


def _restricted(command: ReadOnlyCommand, started: list[Process], failed: list[BaseException]) -> None:
    """Body of the thread. It restricts itself, and its children inherit the restriction."""
    try:
        program = command.argv[0]
        system = () if landlock.is_static(program) else _SYSTEM
        landlock.restrict_thread((program, os.devnull, *system, *(command.readable or ())))
        started.append(_popen(command))
    except BaseException as error:  # noqa: BLE001 - handed over to the thread that waits
        failed.append(error)


def _popen(command: ReadOnlyCommand) -> Process:
    return start_process(
        command.argv,
        cwd="/" if command.directory is None else f"/proc/self/fd/{command.directory}",
        stdin=EMPTY if command.stdin is None else command.stdin,
        stdout=PIPE,
        stderr=PIPE,
        env=_ENVIRONMENT,
        pass_fds=command.pass_fds,
        bufsize=0,
    )


def memory_file(content: bytes) -> int:
    """Return the descriptor of an in-memory file, positioned at its start. The caller closes it."""
    fd = os.memfd_create("toolgate", os.MFD_CLOEXEC)
    view = memoryview(content)
    while view:
        view = view[os.write(fd, view) :]
    os.lseek(fd, 0, os.SEEK_SET)
    return fd
