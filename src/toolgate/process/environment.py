"""The environment that commands start with: an allow list, never the host process's own."""

from __future__ import annotations

import os
from collections.abc import Iterable, Mapping

_ALLOWED = (
    "LANG",
    "LANGUAGE",
    "TZ",
    "USER",
    "LOGNAME",
    "SSL_CERT_FILE",
    "SSL_CERT_DIR",
    "REQUESTS_CA_BUNDLE",
    "CURL_CA_BUNDLE",
    "NODE_EXTRA_CA_CERTS",
    "PIP_CERT",
    "GIT_SSL_CAINFO",
    "PYENV_ROOT",
    "RUSTUP_HOME",
    "CARGO_HOME",
    "NVM_DIR",
    "GOROOT",
    "GOPATH",
    "JAVA_HOME",
    "CONDA_PREFIX",
    "VIRTUAL_ENV",
)
"""Names that say where things are and never hold a secret."""
_FALLBACK_PATH = "/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin"
_FIXED = {
    "SHELL": "/bin/bash",
    "TERM": "dumb",
    "PAGER": "cat",
    "GIT_PAGER": "cat",
    "GIT_TERMINAL_PROMPT": "0",
    "GIT_OPTIONAL_LOCKS": "0",
    "DEBIAN_FRONTEND": "noninteractive",
}
"""A terminal that is none: programs neither page nor wait for an editor or a password."""
_GIT = {"core.fsmonitor": "false", "log.showSignature": "false"}
"""Settings with which a repository's own configuration would make `git status` and `git log` run a program."""

_GIT_WRITES = {
    "core.hooksPath": "/dev/null",
    "gc.autoDetach": "false",
    "maintenance.autoDetach": "false",
    "branch.autoSetupMerge": "false",
    "submodule.recurse": "false",
    "diff.ignoreSubmodules": "dirty",
}
"""While the repository can be written: no hook runs, nothing stays behind, and its configuration is not written."""


def search_path(host: Mapping[str, str]) -> tuple[str, ...]:
    """The absolute entries of PATH, each once; relative ones would mean another place in every directory."""
    entries = (entry for entry in host.get("PATH", _FALLBACK_PATH).split(":") if entry.startswith("/"))
    return tuple(dict.fromkeys(os.path.normpath(entry) for entry in entries)) or tuple(_FALLBACK_PATH.split(":"))


def environment(
    host: Mapping[str, str], *, path: Iterable[str], home: str, temporary: str, passed: Iterable[str] = ()
) -> dict[str, str]:
    """What a command may know of the host's environment. `passed` are further names that the operator allows."""
    allowed = [*_ALLOWED, *(name for name in host if name.startswith("LC_")), *passed]
    chosen = {name: host[name] for name in allowed if _is_text(host.get(name))}
    chosen.setdefault("LANG", "C.UTF-8")
    return {
        **chosen,
        **_FIXED,
        **_git_settings(_GIT),
        "PATH": ":".join(path),
        "HOME": home,
        "TMPDIR": temporary,
    }


def git_environment(
    base: Mapping[str, str], *, root: str, git_directory: str, settings: Mapping[str, str]
) -> dict[str, str]:
    """The environment in which git may write the repository: nothing that commands could prepare is looked at.

    There is no home, PATH leads nowhere below the root, hooks and editors do not run. `settings` are further settings.
    """
    path = [entry for entry in base["PATH"].split(":") if entry != root and not entry.startswith(f"{root}/")]
    return {
        **{name: value for name, value in base.items() if not name.startswith("GIT_CONFIG_")},
        **_git_settings({**_GIT, **_GIT_WRITES, **settings}),
        "PATH": ":".join(path),
        "HOME": "/",
        "GIT_CONFIG_GLOBAL": "/dev/null",
        "GIT_DIR": git_directory,
        "GIT_WORK_TREE": root,
        "GIT_EDITOR": ":",
        "GIT_SEQUENCE_EDITOR": ":",
    }


def _git_settings(settings: Mapping[str, str]) -> dict[str, str]:
    """git's way to be given settings that win over every file."""
    pairs = {f"GIT_CONFIG_KEY_{number}": name for number, name in enumerate(settings)}
    values = {f"GIT_CONFIG_VALUE_{number}": value for number, value in enumerate(settings.values())}
    return {"GIT_CONFIG_COUNT": str(len(settings)), **pairs, **values}


def _is_text(value: str | None) -> bool:
    if value is None:
        return False
    try:
        value.encode()
    except UnicodeEncodeError:
        return False
    return True
