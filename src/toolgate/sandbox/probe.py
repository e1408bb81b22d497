"""What this machine offers to confine commands with, found out by trying."""

from dataclasses import dataclass

from toolgate.process.executables import bubblewrap_candidates, find_bash, find_interpreter
from toolgate.process.start import run_briefly
from toolgate.sandbox import native_layers as native

_PATIENCE = 10.0


@dataclass(frozen=True, slots=True, kw_only=True)
class Finding:
    """Whether something works, and what was seen."""

    works: bool
    detail: str


def program(*argv: str) -> Finding:
    """Run a program that should end at once; the first line of what it says."""
    try:
        done = run_briefly(argv, timeout=_PATIENCE)
    except OSError as error:
        return Finding(works=False, detail=str(error))
    said = (done.stdout or done.stderr).decode(errors="replace").strip().partition("\n")[0]
    return Finding(works=done.exit_code == 0, detail=said or f"exit code {done.exit_code}")


def bubblewrap(root: str, setting: str | None) -> Finding:
    """Whether there is a bubblewrap that can really make a sandbox without network, and where it is."""
    failures, shell = [], find_bash((root,))
    for path in bubblewrap_candidates(setting, (root,)):
        tried = program(
            path, "--unshare-all", "--die-with-parent", "--ro-bind", "/", "/", "--proc", "/proc", shell, "-c", ":"
        )
        if tried.works:
            return Finding(works=True, detail=f"{program(path, '--version').detail} ({path})")
        failures.append(f"{path}: {tried.detail}")
    if failures:
        return Finding(works=False, detail=f"installed, but does not work here: {'; '.join(failures)}")
    return Finding(works=False, detail="not installed" if setting is None else f"{setting} cannot be run")


def user_namespaces() -> Finding:
    """Whether this user may make a user namespace, tried with the sandbox's helper."""
    works = native.probe().namespaces
    return Finding(works=works, detail="allowed" if works else "not allowed")


def bash(root: str) -> Finding:
    """The shell that runs commands."""
    path = find_bash((root,))
    tried = program(path, "--version")
    return Finding(works=tried.works, detail=f"{tried.detail} ({path})")


def interpreter() -> str:
    """The Python that starts the sandbox's helper."""
    return find_interpreter()
