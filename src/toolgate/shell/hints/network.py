"""Hints about the network. Without full access there is none, and some programs fail silently."""

import re

from toolgate.shell.hints.finished_command import FinishedCommand

_MESSAGE = re.compile(
    r"[Nn]etwork (?:is )?unreachable|[Cc]ould not resolve|[Tt]emporary failure in name resolution"
    r"|[Nn]ame or service not known|[Nn]o address associated with|[Uu]nable to resolve host|[Nn]o such host"
    r"|\b(?:ENETUNREACH|EAI_AGAIN|ENOTFOUND)\b|socket\.gaierror|getaddrinfo failed|getaddrinfo E\w+"
)
_DENIED = re.compile(r"socket[^\n]*(?:\n[^\n]*){0,3}Permission ?(?:Error|denied)")
"""Messages where creating sockets is denied."""
_SILENT = {"curl": (5, 6, 7, 28), "wget": (4,), "getent": (2,)}
"""Exit codes of programs that were told to be quiet and could not connect."""
_WAITING = {
    "git": ("clone", "fetch", "pull", "push", "ls-remote", "submodule"),
    "npm": ("install", "i", "ci", "add", "view", "update", "audit", "exec", "create", "publish", "info", "outdated"),
    "yarn": ("install", "add", "dlx", "create", "publish", "upgrade"),
    "pnpm": ("install", "i", "add", "dlx", "create", "publish", "update"),
    "pip": ("install", "download", "index", "wheel"),
    "pip3": ("install", "download", "index", "wheel"),
    **dict.fromkeys(("npx", "curl", "wget", "ssh", "scp", "sftp", "telnet", "nc", "ncat", "ping", "ftp"), ()),
}
"""Programs that wait for the network, and the arguments with which they do; empty for always."""
_HERE = re.compile(r"(?:\w+://)?(?:[^/@]*@)?(?:localhost|127\.[\d.]+|\[?::1\]?|0\.0\.0\.0)(?:[:/].*)?")
"""Addresses of this machine."""


def network_hint(ended: FinishedCommand) -> str:
    """Return that the command needed a network, which only full access has; empty if it did not fail for that."""
    if ended.access == "full" or (ended.exit_code == 0 and not _MESSAGE.search(ended.stderr)):
        return ""
    programs = [words for words in ended.commands if _goes_out(words)]
    said = ended.says(_MESSAGE) or (None if ended.mounts else ended.says(_DENIED))
    if said is not None and (ended.exit_code != 0 or programs):
        return _no_network(ended)
    for words in programs:
        silent = ended.exit_code in _SILENT.get(words[0], ())
        if ended.exit_code is not None and not silent:
            continue
        if any(_HERE.fullmatch(word) for word in words[1:]):
            return _how_to_reach_servers(ended)
        if silent:
            return _no_network(ended)
        return f"'{words[0]}' may have waited for the network. {_no_network(ended)}"
    return ""


def _no_network(ended: FinishedCommand) -> str:
    return f'There is no network with access="{ended.access}"; with access="full" a person is asked and it would work.'


def _how_to_reach_servers(ended: FinishedCommand) -> str:
    """Explain which commands reach a server in a background job: those with the same access."""
    if not ended.jobs:
        return ""
    if ended.reaches_jobs:
        return "If a job serves there, it may not listen yet: see 'jobs output ID', and try again."
    return (
        f'With access="{ended.access}" a command reaches servers in jobs that have the same access. Start the server '
        "with it, or in the same command."
    )


def _goes_out(words: tuple[str, ...]) -> bool:
    """Whether a simple command needs the network."""
    if words[0] == "getent":
        return words[1:2] in (("hosts",), ("ahosts",), ("ahostsv4",))
    verbs = _WAITING.get(words[0])
    return verbs is not None and (not verbs or any(word in verbs for word in words[1:]))
