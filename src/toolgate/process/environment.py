"""The environment of commands: an allow list, never a copy of the runtime's own environment."""

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
"""Variables that hold locations, never secrets."""
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
"""Values for a shell without a terminal: programs use no pager, no editor and no password prompt."""
_GIT = {
    "core.fsmonitor": "false",
    "log.showSignature": "false",
    "gpg.program": "gpg",
    "gpg.openpgp.program": "gpg",
    "gpg.x509.program": "gpgsm",
    "gpg.ssh.program": "ssh-keygen",
}
"""Settings that keep a repository's own configuration from running programs in `git status` and `git log`."""

_GIT_WRITES = {
    "core.hooksPath": "/dev/null",
    "gc.autoDetach": "false",
    "maintenance.autoDetach": "false",
    "branch.autoSetupMerge": "false",
    "submodule.recurse": "false",
    "diff.ignoreSubmodules": "dirty",
}
"""Settings for commands that write the repository: hooks, background maintenance and configuration changes are off."""


def search_path(host: Mapping[str, str]) -> tuple[str, ...]:
    """Return the absolute entries of PATH, each once. Relative entries would depend on the current directory."""
    entries = (entry for entry in host.get("PATH", _FALLBACK_PATH).split(":") if entry.startswith("/"))
    return tuple(dict.fromkeys(os.path.normpath(entry) for entry in entries)) or tuple(_FALLBACK_PATH.split(":"))


def environment(
    host: Mapping[str, str], *, path: Iterable[str], home: str, temporary: str, passed: Iterable[str] = ()
) -> dict[str, str]:
    """Return the part of the host's environment that commands may see. `passed` are further names that are allowed."""
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
    """Return the environment for git commands that write the repository.

    Nothing that commands could prepare is used: there is no home, PATH has no entry below the root, and no hook or
    editor runs. `settings` are further git settings.
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
    """Pass settings through `GIT_CONFIG_*` variables, which override every configuration file."""
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
