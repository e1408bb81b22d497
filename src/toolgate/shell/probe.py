"""What this machine offers to confine commands with, found out by trying."""

import shutil
import subprocess
from dataclasses import dataclass

_PATIENCE = 10.0


@dataclass(frozen=True, slots=True, kw_only=True)
class Finding:
    """Whether something works, and what was seen."""

    works: bool
    detail: str


def program(*argv: str) -> Finding:
    """Run a program that should end at once; the first line of what it says."""
    try:
        done = subprocess.run(argv, capture_output=True, stdin=subprocess.DEVNULL, timeout=_PATIENCE, check=False)
    except (OSError, subprocess.TimeoutExpired) as error:
        return Finding(works=False, detail=str(error))
    said = (done.stdout or done.stderr).decode(errors="replace").strip().partition("\n")[0]
    return Finding(works=done.returncode == 0, detail=said or f"exit code {done.returncode}")


def bubblewrap() -> Finding:
    """Whether bubblewrap is there and can really make a sandbox without network."""
    path = shutil.which("bwrap")
    if path is None:
        return Finding(works=False, detail="not installed")
    tried = program(path, "--unshare-all", "--die-with-parent", "--ro-bind", "/", "/", "--proc", "/proc", "true")
    if not tried.works:
        return Finding(works=False, detail=f"installed, but does not work here: {tried.detail}")
    return Finding(works=True, detail=program(path, "--version").detail)


def user_namespaces() -> Finding:
    """Whether an unprivileged process may make a user namespace, tried with bubblewrap."""
    path = shutil.which("bwrap")
    if path is None:
        return Finding(works=False, detail="cannot be tried without bubblewrap")
    tried = program(path, "--unshare-user", "--ro-bind", "/", "/", "true")
    return Finding(works=tried.works, detail="allowed" if tried.works else tried.detail)
