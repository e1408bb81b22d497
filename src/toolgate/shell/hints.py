"""Says when the sandbox was the reason of a failure, and which access would have worked."""

from __future__ import annotations

import re

from toolgate.protocol.plan import Access

_READ_ONLY = re.compile(r"read-only file system|EROFS|Errno 30\b", re.IGNORECASE)
_BUSY = re.compile(r"device or resource busy|EBUSY", re.IGNORECASE)
_NETWORK = re.compile(
    r"network is unreachable|could not resolve|temporary failure in name resolution|name or service not known"
    r"|ENETUNREACH|EAI_AGAIN|ENOTFOUND|no address associated|unable to resolve host|getaddrinfo",
    re.IGNORECASE,
)
_TOO_LARGE = re.compile(r"file size limit exceeded|file too large", re.IGNORECASE)
_MEMORY = re.compile(r"cannot allocate memory|MemoryError|out of memory|std::bad_alloc|ENOMEM", re.IGNORECASE)
_PROCESSES = re.compile(r"fork: (?:retry: )?resource temporarily unavailable|EAGAIN.*fork|can't start new thread")
_FULL_DISK = 153  # 128 + SIGXFSZ


def hint(access: Access, exit_code: int | None, text: str) -> str:
    """A next step for a command that failed; empty if the sandbox had no part in it."""
    if exit_code == 0:
        return ""
    if _READ_ONLY.search(text) or (_BUSY.search(text) and ".git" in text):
        if access == "read":
            return 'The sandbox keeps the project read-only with access="read"; it would work with access="write".'
        if access == "write":
            return (
                "The sandbox lets commands write only inside the project root and /tmp, and never .git/hooks, "
                '.git/config or .toolgate; with access="full" a person is asked and it may work.'
            )
    if access != "full" and _NETWORK.search(text):
        return f'There is no network with access="{access}"; with access="full" a person is asked and it would work.'
    if exit_code == _FULL_DISK or _TOO_LARGE.search(text):
        return "The command hit the limit on the size of a file."
    if _MEMORY.search(text):
        return "The command hit the limit on memory."
    if _PROCESSES.search(text):
        return "The command hit the limit on the number of processes."
    return ""
