"""Reads the output of processes as it arrives. No process outlives the call."""

import os
import selectors
import time
from collections.abc import Callable, Sequence
from contextlib import ExitStack
from dataclasses import dataclass
from typing import IO, Protocol

from toolgate.workspace.threads import Stop, Stopped

MAX_OUTPUT = 256 << 20
"""Most bytes that the processes may write before they are ended."""

_MAX_MESSAGES = 1 << 16
_READ = 1 << 18
_TICK = 0.05


class OutputProcess(Protocol):
    """A process whose output is read, such as a `subprocess.Popen` with pipes."""

    @property
    def stdout(self) -> IO[bytes] | None:
        """The stream that carries records."""
        ...

    @property
    def stderr(self) -> IO[bytes] | None:
        """The stream that carries error messages."""
        ...

    def poll(self) -> int | None:
        """Return the exit code, or None while it runs."""
        ...

    def wait(self) -> int:
        """Wait for the end and return the exit code."""
        ...

    def kill(self) -> None:
        """Kill the process."""
        ...


class Sink(Protocol):
    """Receives output."""

    def feed(self, chunk: bytes) -> None:
        """Add the next piece."""
        ...

    def finish(self) -> None:
        """The output is complete."""
        ...


@dataclass(frozen=True, slots=True, kw_only=True)
class Bounds:
    """How long the processes may take."""

    deadline: float
    """Deadline, as a `time.monotonic` value."""
    stop: Stop
    """Set if the call was cancelled; `Stopped` is raised then."""


@dataclass(slots=True)
class StreamEnd:
    """How the processes ended."""

    complete: bool = True
    """False if the deadline or the output limit ended them early."""
    messages: str = ""
    """What was written to standard error."""
    failed: bool = False
    """Whether a process ended by itself with an error."""


def follow(
    processes: Sequence[OutputProcess],
    sinks: Sequence[Sink],
    bounds: Bounds,
    meanwhile: Callable[[], object] | None = None,
) -> StreamEnd:
    """Read the output of each process into its sink until they end or must be ended. None is left running.

    `meanwhile` is called first. It starts what the caller has to do beside the processes, and MUST NOT block.
    """
    stream_end = StreamEnd(complete=False)
    messages = bytearray()
    try:
        if meanwhile is not None:
            meanwhile()
        with selectors.DefaultSelector() as selector, ExitStack() as pipes:
            for process, sink in zip(processes, sinks, strict=True):
                for pipe, receiver in ((process.stdout, sink), (process.stderr, None)):
                    assert pipe is not None
                    selector.register(pipes.enter_context(pipe), selectors.EVENT_READ, receiver)
            stream_end.complete = _read_all(selector, messages, bounds)
        if stream_end.complete:
            codes = [process.wait() for process in processes]
            stream_end.failed = any(codes)
    finally:
        if not stream_end.complete:
            end(processes)
    stream_end.messages = messages.decode("utf-8", "replace")
    return stream_end


def _read_all(selector: selectors.BaseSelector, messages: bytearray, bounds: Bounds) -> bool:
    """Read until every pipe is closed; False if the deadline or the output limit came first."""
    taken = 0
    while selector.get_map():
        if bounds.stop.is_set:
            raise Stopped
        ready = selector.select(_TICK)
        for key, _ in ready:
            chunk = os.read(key.fd, _READ)
            sink: Sink | None = key.data
            if not chunk:
                selector.unregister(key.fileobj)
            if sink is None:
                messages += chunk[: _MAX_MESSAGES - len(messages)]
            elif chunk:
                taken += len(chunk)
                sink.feed(chunk)
            else:
                sink.finish()
        if selector.get_map() and (time.monotonic() > bounds.deadline or taken > MAX_OUTPUT):
            for key in list(selector.get_map().values()):
                if key.data is not None:
                    key.data.finish()
            return False
    return True


def end(processes: Sequence[OutputProcess]) -> None:
    """Kill the processes that still run, and reap all."""
    for process in processes:
        if process.poll() is None:
            process.kill()
    for process in processes:
        process.wait()
        for pipe in (process.stdout, process.stderr):
            if pipe is not None:
                pipe.close()
