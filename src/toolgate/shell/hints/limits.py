"""Hints about limits: the size of a file, memory, the number of processes."""

import re

from toolgate.shell.hints.finished_command import FinishedCommand

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


def limit_hint(ended: FinishedCommand) -> str:
    """Return which limit the command reached."""
    killed = ended.exit_code == _TOO_LARGE and str(_TOO_LARGE) not in ended.command
    if killed or ended.says(_FILE):
        return "The command hit the limit on the size of a file."
    if ended.out_of_memory or ended.says(_MEMORY):
        return "The command hit the limit on memory."
    if ended.says(_PROCESSES):
        return "The command hit the limit on the number of processes."
    return ""
