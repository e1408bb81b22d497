"""Simulates another operating system in this process: what only Linux, or only POSIX, has is taken away.

Run as a program, it reads lines of JSON with the name of a system and Python source, runs each in a process of its own
that simulates that system, and answers with the job's number and the exit code. Other people's modules are imported
once for all of them.
"""

import ctypes
import importlib
import json
import os
import select
import signal
import sys
import sysconfig
from types import ModuleType
from typing import Any

_NEW = os.O_WRONLY | os.O_CREAT | os.O_TRUNC
_LINUX_ONLY = {
    os: (
        "O_PATH O_TMPFILE pidfd_open memfd_create splice copy_file_range eventfd getrandom setns unshare setresuid "
        "getresuid sched_getaffinity sched_setaffinity posix_fadvise posix_fallocate getxattr listxattr setxattr "
        "removexattr fdatasync"
    ),
    select: "epoll",
    signal: "pidfd_send_signal sigtimedwait sigwaitinfo SIGRTMIN SIGRTMAX SIGPWR SIGSTKFLT SIGPOLL",
}
_POSIX_ONLY = {
    os: (
        "O_CLOEXEC O_DIRECTORY O_NOFOLLOW O_NONBLOCK fork forkpty execve_fd getuid geteuid getgid getegid getgroups "
        "setsid setuid setgid killpg getpgid getpgrp setpgid getppgid chown fchown lchown fchmod fchdir chroot mkfifo "
        "mknod openpty ttyname uname wait wait3 wait4 waitid WNOHANG getloadavg nice pread preadv pwrite pwritev "
        "statvfs fstatvfs sysconf pathconf fpathconf posix_spawn posix_spawnp register_at_fork set_blocking_posix "
        "sync pipe2 sendfile umask_posix confstr sched_yield tcgetpgrp tcsetpgrp ctermid readv writev lockf"
    ),
    select: "poll kqueue",
    signal: (
        "SIGHUP SIGKILL SIGCHLD SIGUSR1 SIGUSR2 SIGPIPE SIGSTOP SIGCONT SIGTSTP SIGTTIN SIGTTOU SIGWINCH SIGQUIT "
        "SIGALRM alarm pause pthread_kill pthread_sigmask setitimer sigpending siginterrupt"
    ),
}
_LOADED_BEFORE = (
    "asyncio.subprocess concurrent.futures.thread multiprocessing tempfile shutil uuid zoneinfo ssl getpass "
    "structlog mcp mcp.client.stdio openai anthropic rich.console prompt_toolkit "
    "starlette.testclient uvicorn"
).split()
"""Other people's modules choose their own parts for Linux; only Toolgate sees the other system."""
_POSIX_MODULES = "fcntl grp pty pwd resource termios tty syslog".split()


def _without(attributes: dict[ModuleType, str]) -> None:
    for owner, names in attributes.items():
        for name in names.split():
            if hasattr(owner, name):
                delattr(owner, name)


class _NoLibrary:
    """`ctypes.CDLL` and `PyDLL` on a system without this library."""

    def __init__(self, name: object = None, **_options: object) -> None:
        raise OSError(f"{name} is not a library of this system")


def become(system: str) -> None:
    """Make this process one of `darwin` or `win32`, as far as Toolgate can tell."""
    os.supports_dir_fd = set() if system == "win32" else os.supports_dir_fd
    _without(_LINUX_ONLY)
    ctypes.CDLL = _NoLibrary  # type: ignore[assignment, misc]
    if system == "win32":
        _without(_POSIX_ONLY)
        sys.modules.update(dict.fromkeys(_POSIX_MODULES))  # type: ignore[arg-type]
    sys.platform = system


def _run(job: dict[str, Any]) -> None:
    """Run a job in this process, with its own files as standard streams."""
    for number, (name, flags) in enumerate([("stdin", os.O_RDONLY), ("stdout", _NEW), ("stderr", _NEW)]):
        os.dup2(os.open(job[name], flags, 0o600), number)
    os.chdir(job["cwd"])
    os.environ.clear()
    os.environ.update(job["environment"])
    sys.path.insert(0, job["cwd"])
    become(job["system"])
    exec(compile(job["code"], "<given>", "exec"), {"__name__": "__main__"})


def _serve() -> None:
    for name in _LOADED_BEFORE:
        importlib.import_module(name)
    sysconfig.get_config_vars()
    for line in sys.stdin:
        job = json.loads(line)
        child = os.fork()
        if child == 0:
            _run(job)
            return
        _, status = os.waitpid(child, 0)
        sys.stdout.write(f"{job['number']} {os.waitstatus_to_exitcode(status)}\n")
        sys.stdout.flush()


if __name__ == "__main__":
    _serve()
