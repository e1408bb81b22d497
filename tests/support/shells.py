"""Shell sessions for tests: every layer that the machine has, as root and as nobody."""

import asyncio
import os
from collections.abc import Awaitable, Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from pathlib import Path
from typing import TypeVar

import pytest

from tests.support.privileges import UIDS, public_directory, run_apart, run_as
from toolgate.protocol.plan import Access
from toolgate.runtime.policy.globs import PathGlob
from toolgate.sandbox.bubblewrap import find_bubblewrap
from toolgate.sandbox.layer import Layer
from toolgate.sandbox.native_layers import NativeLayer, probe
from toolgate.sandbox.supervisor.kernel import CLONE_NEWNS
from toolgate.shell.options import ShellOptions
from toolgate.shell.result import CommandResult
from toolgate.shell.session import ShellSession
from toolgate.workspace import Workspace
from toolgate.workspace.file_guard import FileGuard, PathRules

T = TypeVar("T")

LAYERS = ("bwrap", "namespaces", "landlock", "off")
"""`namespaces` and `landlock` are the two forms of the layer that settings call `landlock`."""
CONFINING = ("bwrap", "namespaces", "landlock")
"""Those that confine. A test gets these unless it chooses others."""
EVERY_LAYER = pytest.mark.parametrize("layer", LAYERS, indirect=True)
"""For a test whose commands are harmless without a sandbox, also as root: they run on the machine itself."""
CANARY = "0123456789abcdef0123456789abcdef"


def make_layer(name: str, writable: tuple[str, ...] = ()) -> Layer:
    """The layer, for the user who calls; skips where the machine does not have it."""
    if name == "off":
        return NativeLayer("off")
    if name == "bwrap":
        found = find_bubblewrap(writable)
        if found is None:
            pytest.skip("bubblewrap does not work here: apt-get install bubblewrap")
        return found
    kernel = probe()
    if name == "namespaces":
        if not kernel.namespaces:
            pytest.skip("no user namespaces here: sysctl kernel.unprivileged_userns_clone=1")
        return NativeLayer("namespaces", kernel.landlock)
    if kernel.landlock < 3 or not kernel.seccomp:
        pytest.skip("no Landlock here: a kernel from 6.2 on with CONFIG_SECURITY_LANDLOCK")
    return NativeLayer("landlock", kernel.landlock)


@dataclass
class Shells:
    """Makes sessions on one root, as one user, in one layer."""

    uid: int
    layer: str
    root: Path
    evil: Path
    options: ShellOptions = field(default_factory=ShellOptions)
    environment: dict[str, str] = field(default_factory=dict)
    guarded: bool = False
    """Whether secret files are locked."""
    denied: tuple[str, ...] = ()
    """Patterns of paths that a rule denies."""
    owner: str = ""
    """The session whose outputs the shell sees; without one it is nobody's."""

    own_mounts: bool = False
    """Whether sessions do not see what other tests mount meanwhile, which only tests of root can."""

    @property
    def access(self) -> Access:
        """The widest access that asks nobody and that the layer can enforce."""
        return "read" if self.layer == "landlock" else "write"

    @property
    def confines(self) -> bool:
        """Whether there is a sandbox at all."""
        return self.layer != "off"

    @property
    def has_view(self) -> bool:
        """Whether commands see a file system of their own."""
        return self.layer in ("bwrap", "namespaces")

    def run(self, script: Callable[[ShellSession], Awaitable[T]]) -> T:
        """What `script` returns, given a session."""
        if self.own_mounts and os.geteuid() == 0:
            return run_apart(self.uid, lambda: asyncio.run(self._session(script)), CLONE_NEWNS)
        return run_as(self.uid, lambda: asyncio.run(self._session(script)))

    def run_apart(self, script: Callable[[ShellSession], Awaitable[T]]) -> T:
        """The same in a process of its own."""
        return run_apart(self.uid, lambda: asyncio.run(self._session(script)))

    async def _session(self, script: Callable[[ShellSession], Awaitable[T]]) -> T:
        host = {"PATH": os.environ["PATH"], "HOME": "/root", "X_API_TOKEN": CANARY, **self.environment}
        workspace = Workspace(self.root)
        if self.owner:
            workspace = workspace.for_session("tool-output", self.owner)
        layer = make_layer(self.layer, (str(self.root),))
        guard = None
        if self.guarded:
            rules = PathRules(denied=tuple(map(PathGlob, self.denied)))
            guard = FileGuard(workspace, lambda: rules)
        try:
            async with ShellSession(
                workspace, options=self.options, layer=layer, environment=host, guard=guard
            ) as session:
                return await script(session)
        finally:
            workspace.close()

    def commands(self, *lines: str, timeout: float = 20.0, access: Access | None = None) -> list[CommandResult]:
        """The results of commands in one session."""

        async def script(session: ShellSession) -> list[CommandResult]:
            return [await session.execute(line, timeout, access or self.access) for line in lines]

        return self.run(script)

    def command(self, line: str, timeout: float = 20.0, access: Access | None = None) -> CommandResult:
        """The result of one command."""
        return self.commands(line, timeout=timeout, access=access)[0]


@contextmanager
def shells_for(uid: int, layer: str) -> Iterator[Shells]:
    """A root, a prefix twin of it with a secret inside, and sessions on the root."""
    with public_directory("toolgate-shells-") as base:
        root, evil = base / "root", base / "root-evil"
        for directory in (root, evil, root / "sub"):
            directory.mkdir()
        (evil / "secret.txt").write_text(CANARY)
        for path in (base, root, evil, root / "sub", evil / "secret.txt"):
            os.chown(path, uid, uid) if os.geteuid() == 0 else None
        yield Shells(uid=uid, layer=layer, root=root, evil=evil)


@pytest.fixture(params=CONFINING)
def layer(request: pytest.FixtureRequest) -> str:
    """Every layer that confines, one after the other: a test that has lost its choice never runs without a sandbox."""
    name: str = request.param
    return name


@pytest.fixture(params=UIDS)
def shells(request: pytest.FixtureRequest, layer: str) -> Iterator[Shells]:
    """Sessions as every user in that layer."""
    with shells_for(request.param, layer) as made:
        yield made


def processes_with(mark: str) -> list[str]:
    """The command lines on this machine that contain a mark."""
    found = []
    for name in os.listdir("/proc"):
        if name.isdigit() and int(name) != os.getpid():
            try:
                line = Path(f"/proc/{name}/cmdline").read_bytes().replace(b"\0", b" ").decode(errors="replace")
                state = Path(f"/proc/{name}/stat").read_text().rpartition(")")[2].split()[0]
            except OSError:
                continue
            if mark in line and state != "Z":
                found.append(line)
    return found
