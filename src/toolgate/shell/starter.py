"""Starts shells in their sandboxes: on demand, and in advance."""

from __future__ import annotations

import errno
import os
from collections.abc import Collection, Mapping, Sequence
from dataclasses import replace
from typing import TYPE_CHECKING, get_args

from toolgate.errors import ToolError
from toolgate.process.environment import environment, git_environment, search_path
from toolgate.process.executables import find_bash
from toolgate.protocol.codes import ErrorCode
from toolgate.protocol.plan import Access
from toolgate.sandbox.control_groups import ControlGroup
from toolgate.sandbox.device_modes import device_modes
from toolgate.sandbox.git.git_list import GitList
from toolgate.sandbox.git.watch import RepositoryWatch
from toolgate.sandbox.launcher import Launcher
from toolgate.sandbox.layer import Layer
from toolgate.sandbox.network import SharedNetwork, make_network
from toolgate.sandbox.orphans import end_orphans
from toolgate.sandbox.pool import SandboxPool
from toolgate.sandbox.reusable import ReusableSandbox
from toolgate.sandbox.session_directory import SessionDirectory
from toolgate.sandbox.socket_gate import socket_gate
from toolgate.sandbox.state_pipe import StatePipe
from toolgate.sandbox.view import View, is_below
from toolgate.sandbox.view_builder import TEMPORARY, ViewBuilder
from toolgate.shell.approved_scripts import Script
from toolgate.shell.console import Console
from toolgate.shell.git_commands import git_list, only_reads
from toolgate.shell.locked_files import LockedFiles
from toolgate.shell.options import ShellOptions
from toolgate.shell.process import ShellProcess, ShellStart
from toolgate.shell.result import SandboxReport
from toolgate.shell.state import ShellState, for_git, for_secrets
from toolgate.workspace.outputs import OwnOutputs
from toolgate.workspace.threads import Stop, in_thread

if TYPE_CHECKING:
    from toolgate.workspace.file_guard import FileGuard

_NO_TOTAL = "memory is limited for each process, not for all together; shared memory and memory files are not counted"


class Starter:
    """What all shells of a session share."""

    def __init__(
        self,
        root: str,
        layer: Layer,
        options: ShellOptions,
        host: Mapping[str, str],
        outputs: OwnOutputs | None = None,
        guard: FileGuard | None = None,
    ) -> None:
        home = os.path.realpath(host.get("HOME") or os.path.expanduser("~"))
        self.layer = layer
        self._options = options
        self._bash = find_bash((root, *map(os.path.realpath, options.roots)), host.get("PATH"))
        self.places = SessionDirectory(root)
        self.locked = LockedFiles(guard)
        path = tuple(place for place in search_path(host) if not _can_be_filled(place, home))
        try:
            self.views = ViewBuilder(
                root,
                self.places,
                home=home,
                path=path,
                readable=options.readable,
                extra=options.extra,
                roots=options.roots,
                hidden=options.hidden,
                mounts=layer.mounts,
                processes=options.processes,
                outputs=outputs,
                locked=self.locked.paths,
            )
        except BaseException:
            self.places.remove()
            raise
        self._environments = {
            access: environment(
                host,
                path=path,
                home=self._home(access, home),
                temporary=TEMPORARY if layer.mounts else self.places.temporary(access),
                passed=options.passed_environment,
            )
            for access in get_args(Access)
        }
        own = (self.places.temporary("write"), self.places.home("write")) if layer.gated else ()
        self._private = [socket_gate().allow_directory(place) for place in own]
        self._group = ControlGroup(processes=options.processes, memory=options.memory_bytes)
        self._launcher = Launcher(layer)
        self._pipes: dict[ShellProcess, StatePipe] = {}
        self._copies: dict[ShellProcess, list[str]] = {}
        """Private copies of the scripts that each shell runs."""
        self._watch = RepositoryWatch(self.views.opened, self.views.repository)
        self._devices = device_modes() if layer.mounts and os.geteuid() == 0 else None
        self._sandboxes = SandboxPool(self._launcher, self.views, self.places, self._joined)
        self._networks: dict[Access, SharedNetwork | None] = {}
        """The network that commands of one access share, since the first job; None if there can be none."""
        self.has_jobs = False
        """Whether jobs run beside the next command."""
        self._spares: list[ShellProcess] = []
        self._kills = 0

    def _home(self, access: Access, real: str) -> str:
        if self.layer.mounts:
            return self.views.home
        return real if self.layer.name == "off" else self.places.home(access)

    def environment(self, access: Access) -> Mapping[str, str]:
        """The environment of the session's first command with this access."""
        return self._environments[access]

    def git_list(self, command: str, access: Access, state: ShellState) -> GitList | None:
        """Return the git commands of a command line that may write the repository."""
        if access != "write" or not self.layer.mounts or "git" not in command:
            return None
        if not self.views.repository_may_be_written():
            return None
        return git_list(command, state, self.views.root, self.views.opened.kind)

    def start(
        self,
        access: Access,
        state: ShellState,
        roots: Sequence[str] = (),
        git: GitList | None = None,
        scripts: Sequence[Script] = (),
        unlocked: Collection[str] = (),
        console: Console | None = None,
    ) -> ShellProcess:
        """Return a shell with this state, one that was started in advance if it fits.

        `scripts` are run as approved, even if the files change. `unlocked` are locked files that it may read.
        `console` is where the command's input comes from.
        """
        self.places.open_private()
        if git is not None:
            recorded = self.locked.may_unlock(self.locked.recorded(self.views.opened)) if git.records else ()
            process = self._new(access, roots, git, unlocked=(*unlocked, *recorded))
            process.load(for_git(state, process.environment))
            return process
        self._keep_fitting(access, state)
        usual = not roots and not scripts and not unlocked and console is None
        waiting = self._waiting_shell(access) if usual else None
        process = waiting or self._new(access, roots, scripts=scripts, unlocked=unlocked, console=console)
        if process.loaded is None:
            process.load(for_secrets(state) if unlocked else state)
        return process

    @property
    def has_spare(self) -> bool:
        """Whether a shell was started in advance."""
        return bool(self._spares)

    def prepare(self, access: Access, state: ShellState | None, wanted: int) -> bool:
        """Start one more shell in advance, and send the next one its state if it is known.

        A state with functions is sent with the command: what a command wrote there as functions may be any code, and
        would run between the commands.

        If sandboxes can be used again but none is idle, start one instead. The next shell starts quickly in it. Return
        whether enough is started.
        """
        self.places.open_private()
        self._keep_fitting(access, state)
        if len(self._spares) < wanted:
            process = self._in_idle_sandbox(access)
            if process is None and self._sandboxes.is_for(access) and not self.has_jobs:
                if not self._sandboxes.start(access):
                    wanted = 0  # no further sandbox will be there in a moment: that is enough
            else:
                self._spares.append(process or self._new(access, ()))
        if self._spares and state is not None and not state.functions and self._spares[0].loaded is None:
            self._spares[0].load(state)
        return len(self._spares) >= wanted

    async def warm_up(self, access: Access) -> None:
        """Wait until shells with this access can be started quickly. Call it before `start`."""
        await self._launcher.warm_up(network=access == "full")

    def discard(self) -> None:
        """End what was started in advance: shells, sandboxes, and the server that forks them."""
        while self._spares:
            self.close(self._spares.pop())
        self._sandboxes.discard()
        self._launcher.close()

    def _keep_fitting(self, access: Access, state: ShellState | None) -> None:
        """Close spare shells that have died, or were made for another access, state or set of protected paths."""
        identity = self.views.identity(access) if self._spares else ()
        for process in tuple(self._spares):
            fits = process.alive and process.view.access == access and process.loaded in (None, state)
            fits = fits and process.view.joins == self._joined(access) and not process.has_other_mounts
            if not fits or process.view.identity != identity:
                self._spares.remove(process)
                self.close(process)

    def _new(
        self,
        access: Access,
        roots: Sequence[str],
        git: GitList | None = None,
        scripts: Sequence[Script] = (),
        unlocked: Collection[str] = (),
        console: Console | None = None,
    ) -> ShellProcess:
        why = self.layer.refuses(access)
        if why is not None:
            raise ToolError(
                ErrorCode.EXECUTION_ERROR,
                f'access="{access}" cannot be enforced on this machine: {why}.',
                'Use access="read", or ask the operator to install bubblewrap.',
            )
        pipe = StatePipe(self.places.new_path("state"))
        sealed: dict[str, str] = {}
        try:
            sealed = self._sealed(scripts)
            view = self.views.view(access, pipe.path, roots, git, sealed, self.locked.may_unlock(unlocked))
            terminal = console is not None and console.kind == "tty"
            view = replace(view, terminal=terminal, joins=self._joined(access))
            try:
                process = ShellProcess(self._start(view, pipe, console=console))
            finally:
                view.close()
        except BaseException:
            pipe.close()
            self.places.remove_copies(sealed.values())
            raise
        self._pipes[process] = pipe
        self._copies[process] = list(sealed.values())
        return process

    def _waiting_shell(self, access: Access) -> ShellProcess | None:
        """Return a shell that was started in advance, or one in a sandbox that is there; None if there is neither."""
        return self._spares.pop(0) if self._spares else self._in_idle_sandbox(access)

    def _in_idle_sandbox(self, access: Access) -> ShellProcess | None:
        """Start a shell in a sandbox that is used again; None if there is none that a command may use.

        A job could have got descriptors of the sandbox from the last command in it, so none is used while one runs.
        """
        sandbox = None if self.has_jobs else self._sandboxes.idle(access)
        if sandbox is None:
            return None
        try:
            return ShellProcess(self._start(sandbox.view, sandbox.state, sandbox=sandbox))
        except ConnectionError:  # its first process was killed, and nothing has started
            sandbox.kill()
            return None
        except OSError as error:
            if error.errno != errno.ETOOMANYREFS:
                raise
            return None  # other processes of this user are passing on too many descriptors

    def _start(
        self,
        view: View,
        state: StatePipe,
        *,
        console: Console | None = None,
        sandbox: ReusableSandbox | None = None,
    ) -> ShellStart:
        return ShellStart(
            layer=self.layer,
            view=view,
            environment=self._environment_in(view),
            limits=self._options.ulimits,
            state=state,
            launcher=self._launcher,
            sandbox=sandbox,
            groups=tuple(self._group.entrances),
            bash=self._bash,
            console=console,
        )

    async def share_network(self, access: Access) -> None:
        """Let this and later commands of an access reach each other's servers. Call it before a job is started."""
        if access != "full" and access not in self._networks:
            made = await in_thread(lambda _: make_network(self.layer))
            if self._networks.setdefault(access, made) is not made and made is not None:
                made.close()

    def shares_network(self, access: Access) -> bool:
        """Whether a command reaches servers in jobs with the same access."""
        return access == "full" or self.layer.name == "off" or bool(self._joined(access))

    def _joined(self, access: Access) -> tuple[int, ...]:
        network = self._networks.get(access)
        return () if network is None else network.fds

    def _sealed(self, scripts: Sequence[Script]) -> dict[str, str]:
        """Make private copies of scripts, by the path of each. A path through a link gets none."""
        copies: dict[str, str] = {}
        for script in scripts if self.layer.mounts else ():
            if script.content is None or self.views.opened.kind(script.path) != "file":
                continue
            copy = self.places.sealed_copy(script.content, script.mode)
            if copy is not None:
                copies[script.path] = copy
        return copies

    def _environment_in(self, view: View) -> Mapping[str, str]:
        if view.git is None:
            return self.environment(view.access)
        return git_environment(
            self.environment(view.access),
            root=view.directory,
            git_directory=view.git_directory,
            settings=self.views.identity_settings(),
        )

    def close(self, process: ShellProcess) -> None:
        """Close a shell."""
        process.close()
        self._kills = self._group.memory_kills()
        self.places.remove_copies(self._copies.pop(process, ()))
        pipe = self._pipes.pop(process, None)
        if pipe is not None:
            pipe.close()

    def began(self, process: ShellProcess, command: str, state: ShellState, first: ShellState) -> None:
        """Record that a command is about to run in this state. `first` is the session's first state."""
        if self._is_watched(process):
            git = process.view.git
            reads = git is None and only_reads(command, state, first.environment)
            self._watch.began(process, git, reads=reads)

    async def ended(self, process: ShellProcess, *, heard: bool = True) -> list[str]:
        """Return notes about a command that ended. Files that it planted have been set aside."""
        changed = self._devices.restore() if self._devices is not None else []
        notes = [
            f"toolgate: the mode of {path} was restored: it is a device of the whole machine\n" for path in changed
        ]
        if self._is_watched(process):
            notes += await self._watch.ended(process, process.view.git, heard=heard)
        return notes

    def _is_watched(self, process: ShellProcess) -> bool:
        return self.layer.mounts and process.view.access == "write"

    def killed_for_memory(self) -> bool:
        """Whether the kernel killed a process for using too much memory since the last shell was closed."""
        return self._group.memory_kills() > self._kills

    def report(self, access: Access) -> SandboxReport:
        """Return what is enforced for an access."""
        options = self._options
        limits = {"memory_bytes": options.memory_bytes, "file_bytes": options.file_bytes}
        unconfined = (*self.layer.missing(access), *self.locked.missing(self.layer, access, self.views.opened))
        if self.layer.mounts and access == "write":
            unconfined += self.views.repository.unprotected()
        missing = [*unconfined]
        if self._counts_processes:
            limits["processes"] = options.processes
        else:
            missing.append("the number of processes is not limited: root needs a control group for that")
        if not self.layer.mounts:
            missing.append("an approved script is compared before it runs, but can be changed while it runs")
        if "memory" not in self._group.limited:
            missing.append(_NO_TOTAL)
        return SandboxReport(
            layer=self.layer.name,
            access=access,
            network=access == "full" or self.layer.name == "off",
            enforced=self.layer.enforced(access),
            roots=self._options.roots if access == "full" else (),
            missing=tuple(missing),
            unconfined=unconfined,
            limits=limits,
        )

    @property
    def _counts_processes(self) -> bool:
        """Whether the process limit holds: the kernel does not count root's processes against a resource limit."""
        return os.getuid() != 0 or "processes" in self._group.limited

    async def shut(self) -> None:
        """End the shells that were started in advance, and remove the session's directory."""
        self.discard()
        for process in tuple(self._pipes):
            self.close(process)
        self._sandboxes.close()
        for network in self._networks.values():
            if network is not None:
                network.close()
        self._networks.clear()
        self._watch.close()
        self.views.close()
        for place in self._private:
            socket_gate().disallow_directory(place)
        await in_thread(self._remove)

    def _remove(self, _: Stop) -> None:
        end_orphans()
        self._group.remove()
        self.places.remove()


def _can_be_filled(place: str, home: str) -> bool:
    """Whether commands could create programs in a directory of PATH, because it is in their private home or temp.

    Directories that exist on the host are mounted there read-only. Later commands would find programs in the others.
    """
    for area in (home, TEMPORARY, "/var/tmp"):
        for path in (place, os.path.realpath(place)):
            if path == area or (is_below(path, area) and not os.path.isdir(place)):
                return True
    return False
