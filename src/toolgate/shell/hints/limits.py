"""Hints about limits: the size of a file, memory, the number of processes."""

import re

from toolgate.shell.hints.command_end import CommandEnd

_FILE = re.compile(r"File size limit exceeded|[Ff]ile too large|\bEFBIG\b")
_MEMORY = re.compile(
    r"[Cc]annot allocate memory|^MemoryError\b|numpy\S*MemoryError|[Oo]ut of [Mm]emory|std::bad_alloc|\bENOMEM\b"
    r"|Array buffer allocation failed|memory exhausted|virtual memory exhausted|OutOfMemoryError",
    re.MULTILINE,
)
_PROCESSES = re.compile(
    r"fork: (?:retry: )?[Rr]esource temporarily unavailable|fork failed|[Cc]annot fork|[Uu]nable to fork"
    r"|can't start new thread|BlockingIOError: \[Errno 11\] Resource temporarily unavailable"
    r"|pthread_create failed|unable to create (?:new )?(?:native )?thread|spawn \S+ EAGAIN"
)
_TOO_LARGE = 153  # 128 + SIGXFSZ


def limit_hint(ending: CommandEnd) -> str:
    """Return which limit the command reached."""
    killed = ending.exit_code == _TOO_LARGE and str(_TOO_LARGE) not in ending.command
    if killed or ending.says(_FILE):
        return "The command hit the limit on the size of a file."
    if ending.out_of_memory or ending.says(_MEMORY):
        return "The command hit the limit on memory."
    if ending.says(_PROCESSES):
        return "The command hit the limit on the number of processes."
    return ""
