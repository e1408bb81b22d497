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
    """Return which limit the command reached, and what to do; empty if it reached none."""
    killed = ended.exit_code == _TOO_LARGE and str(_TOO_LARGE) not in ended.command
    if killed or ended.says(_FILE):
        return _reached("the size of a file", "Write smaller files", "FILE_MB")
    if ended.out_of_memory or ended.says(_MEMORY):
        return _reached("memory", "Work on less at a time", "MEMORY_MB")
    if ended.says(_PROCESSES):
        return _reached("the number of processes", "Start fewer at a time", "PROCESSES")
    return ""


def _reached(what: str, step: str, setting: str) -> str:
    return f"The command hit the limit on {what}. {step}; the operator can raise TOOLGATE_SHELL_{setting}."
