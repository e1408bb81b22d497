"""The sandboxes of a session that are used again."""

from __future__ import annotations

import os
import stat
from collections.abc import Callable
from dataclasses import replace

from toolgate.log import logger
from toolgate.process.descriptors import max_open_files
from toolgate.protocol.plan import Access
from toolgate.sandbox.launcher import Launcher
from toolgate.sandbox.reusable import ReusableSandbox
from toolgate.sandbox.session_directory import SessionDirectory
from toolgate.sandbox.state_pipe import StatePipe
from toolgate.sandbox.view import View
from toolgate.sandbox.view_builder import ViewBuilder

MAX_SANDBOXES = 2
"""Most sandboxes per access. While a command runs in one, the next shell starts in the other."""


class SandboxPool:
    """Starts sandboxes that are used again, and finds those that a command may use."""

    def __init__(
        self,
        launcher: Launcher,
        views: ViewBuilder,
        places: SessionDirectory,
        joined: Callable[[Access], tuple[int, ...]],
    ) -> None:
        """`joined` returns the descriptors of the network that commands with an access share."""
        self._launcher = launcher
        self._views = views
        self._places = places
        self._joined = joined
        self._sandboxes: list[ReusableSandbox] = []
        self._works = launcher.can_reuse(views.root)

    def is_for(self, access: Access) -> bool:
        """Whether commands with this access use sandboxes again. Those with the host's network get their own."""
        return self._works and access != "full"

    def idle(self, access: Access) -> ReusableSandbox | None:
        """Return an idle sandbox that shows exactly what a new one would show now. Those that do not are closed."""
        for sandbox in tuple(self._sandboxes):
            if sandbox.is_lost:
                self._drop(sandbox)
            elif sandbox.is_idle and sandbox.view.access == access:
                view = self._views.view(access, sandbox.state.path)
                view.close()
                is_same = replace(view, joins=self._joined(access)) == sandbox.view
                is_same = is_same and sandbox.max_open_files == max_open_files()
                is_same = is_same and not sandbox.running.has_other_mounts
                if is_same and files_of_mounts(view) == sandbox.files:
                    return sandbox
                self._drop(sandbox)
        return None

    def start(self, access: Access) -> bool:
        """Start one more sandbox, if there are not enough. A command can use it as soon as it is idle.

        Return whether that is worth waiting for: one that is used already can be used again in a moment.
        """
        same = [one for one in self._sandboxes if one.view.access == access and not one.is_retired]
        if any(sandbox.is_clearing_up for sandbox in same):
            return True
        if len(same) >= MAX_SANDBOXES:
            return False
        state = StatePipe(self._places.new_path("state"))
        try:
            view = replace(self._views.view(access, state.path), joins=self._joined(access))
            try:
                self._sandboxes.append(ReusableSandbox(self._launcher, view, state, files_of_mounts(view)))
            finally:
                view.close()
        except BaseException:
            state.close()
            raise
        return False

    def _drop(self, sandbox: ReusableSandbox) -> None:
        if not sandbox.was_ready and not sandbox.is_retired:
            logger("sandbox").info("sandbox_not_reusable")
            self._works = False
        self._sandboxes.remove(sandbox)
        sandbox.close()

    def discard(self) -> None:
        """End the sandboxes. Those in which a program runs end after it."""
        for sandbox in self._sandboxes:
            sandbox.retire()

    def close(self) -> None:
        """End all sandboxes with what is in them."""
        for sandbox in self._sandboxes:
            sandbox.close()
        self._sandboxes.clear()


def files_of_mounts(view: View) -> tuple[object, ...]:
    """Identify what each mount shows and covers on the host. A directory that was moved away stays mounted."""
    paths = (path for mount in view.mounts if mount.kind in ("ro", "rw") for path in (mount.source, mount.target))
    return tuple(map(_identity, paths))


def _identity(path: str) -> tuple[int, ...]:
    """Identify a file, also if another one gets its number later; empty if there is none."""
    try:
        info = os.lstat(path)
    except OSError:
        return ()
    return info.st_dev, info.st_ino, info.st_ctime_ns if stat.S_ISREG(info.st_mode) else 0
