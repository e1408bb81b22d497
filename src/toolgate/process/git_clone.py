"""Clones of the operator's repository. Git runs only in that repository and in new clones, never in one that commands
have written to: there its configuration, hooks and filters would run with the rights of this process.
"""

from __future__ import annotations

import os
import re

from toolgate.errors import WorkspaceError
from toolgate.process.start import FinishedProcess, run_briefly
from toolgate.workspace.threads import Stop

_GIT = "/usr/bin/git"
_OFF = (
    "-c",
    "core.hooksPath=/dev/null",
    "-c",
    "core.fsmonitor=false",
    "-c",
    "safe.directory=*",
    "-c",
    "fetch.unpackLimit=1",
)
"""The repository may belong to another user; nothing that it configures is run."""
_SERVE = f"{_GIT} -c safe.directory=* -c uploadpack.allowAnySHA1InWant=true upload-pack"
_FETCH = ("--quiet", "--no-tags", "--no-write-fetch-head", "--update-shallow")
_TIMEOUT = 600.0
"""Seconds that a clone may take."""
_COMMIT = re.compile(r"[0-9a-f]{40}(?:[0-9a-f]{24})?")


def is_repository(root: str) -> bool:
    """Whether a directory is the top of a repository."""
    return os.path.exists(os.path.join(root, ".git"))


def head(_stop: Stop, root: str) -> str:
    """The commit that the repository has checked out."""
    found = _run(root, "rev-parse", "--verify", "--quiet", "HEAD^{commit}")
    if found.exit_code:
        raise WorkspaceError(f"{root} has no commit: commit there what sessions shall begin with")
    return found.stdout.decode().strip()


def clone(_stop: Stop, root: str, commit: str, directory: str) -> None:
    """Make a new repository with this commit, its history and its files. It shares nothing with the root on the disk.

    The branch has the name of the root's branch. There is no remote, because its address may contain a password.
    """
    if _COMMIT.fullmatch(commit) is None:
        raise WorkspaceError("the stored commit is not one")
    branch = _run(root, "symbolic-ref", "--quiet", "--short", "HEAD").stdout.decode().strip() or "main"
    _must(_run(None, "init", "--quiet", "--template=", f"--initial-branch={branch}", "--", directory))
    fetched = _run(directory, "fetch", *_FETCH, f"--upload-pack={_SERVE}", "--", root, commit)
    if fetched.exit_code:
        raise WorkspaceError(
            f"the commit {commit} could not be taken from {root}: fetch it there, as on the other workers "
            f"({_last_line(fetched)})"
        )
    _must(_run(directory, "reset", "--quiet", "--hard", commit))


def _run(directory: str | None, *words: str) -> FinishedProcess:
    where = () if directory is None else ("-C", directory)
    environment = {
        "PATH": "/usr/bin:/bin",
        "HOME": "/",
        "LC_ALL": "C.UTF-8",
        "GIT_CONFIG_NOSYSTEM": "1",
        "GIT_CONFIG_GLOBAL": "/dev/null",
        "GIT_TERMINAL_PROMPT": "0",
        "GIT_ALLOW_PROTOCOL": "file",
    }
    try:
        return run_briefly([_GIT, *_OFF, *where, *words], timeout=_TIMEOUT, environment=environment, directory="/")
    except OSError as error:
        raise WorkspaceError(f"git could not be run ({error})") from error


def _must(ended: FinishedProcess) -> None:
    if ended.exit_code:
        raise WorkspaceError(f"git failed: {_last_line(ended)}")


def _last_line(ended: FinishedProcess) -> str:
    lines = ended.stderr.decode(errors="replace").strip().splitlines()
    return lines[-1][:200] if lines else f"exit code {ended.exit_code}"
