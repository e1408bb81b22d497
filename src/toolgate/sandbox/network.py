"""A network that the commands of one session share: loopback only, so that they reach a server in a background job.

Two descriptors hold it: one of the user namespace that owns it, and one of the network namespace itself. No process has
to stay. Commands join it before their own namespaces are made; nothing outside can be reached from it.
"""

from __future__ import annotations

import os
import select
from dataclasses import dataclass

from toolgate.log import logger
from toolgate.process.start import PIPE, run_briefly, start_process
from toolgate.sandbox.layer import Layer
from toolgate.sandbox.supervisor_call import supervisor_call

_TIMEOUT = 10.0


@dataclass(frozen=True, slots=True)
class SharedNetwork:
    """An open network. Close it once; commands that run in it keep it."""

    user: int
    network: int

    @property
    def fds(self) -> tuple[int, int]:
        """The descriptors that a command needs to join it."""
        return self.user, self.network

    def close(self) -> None:
        """Close its descriptors."""
        for fd in self.fds:
            os.close(fd)


def make_network(layer: Layer) -> SharedNetwork | None:
    """Return a new network, or None if the layer cannot join one here: commands then have networks of their own."""
    if not layer.joins:
        return None
    try:
        made = _make()
    except (OSError, TimeoutError) as error:
        logger("sandbox").warning("network_not_shared", error=str(error))
        return None
    if not _works(layer, made):
        made.close()
        return None
    return made


def _make() -> SharedNetwork:
    reading, writing = os.pipe()
    try:
        wrapper = supervisor_call({"mode": "network"}, writing)
        try:
            process = start_process(
                wrapper.argv, stdin=PIPE, stdout=PIPE, pass_fds=(*wrapper.fds, writing), env={}, cwd="/"
            )
        finally:
            for fd in wrapper.fds:
                os.close(fd)
    finally:
        os.close(reading)
        os.close(writing)
    with process:
        assert process.stdout is not None
        try:
            if not select.select([process.stdout], [], [], _TIMEOUT)[0] or not process.stdout.read(1):
                raise OSError("no network namespace could be made")
            return _opened(process.pid)
        finally:
            process.kill()


def _opened(pid: int) -> SharedNetwork:
    user = os.open(f"/proc/{pid}/ns/user", os.O_RDONLY | os.O_CLOEXEC)
    try:
        return SharedNetwork(user, os.open(f"/proc/{pid}/ns/net", os.O_RDONLY | os.O_CLOEXEC))
    except OSError:
        os.close(user)
        raise


def _works(layer: Layer, network: SharedNetwork) -> bool:
    """Whether the layer can set up a sandbox inside. Some machines limit how deep namespaces can be."""
    trial = layer.join_trial(network.fds)
    if trial is None:
        return True
    try:
        done = run_briefly(trial.argv, timeout=_TIMEOUT, pass_fds=(*trial.fds, *network.fds))
    except (OSError, TimeoutError) as error:
        logger("sandbox").warning("network_not_shared", error=str(error))
        return False
    finally:
        for fd in trial.fds:
            os.close(fd)
    if done.exit_code != 0:
        logger("sandbox").warning("network_not_shared", error=done.stderr.decode(errors="replace")[-200:])
    return done.exit_code == 0
