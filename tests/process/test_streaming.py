"""The output of processes as it arrives; none outlives the call."""

import sys
import time

import pytest

from toolgate.process.start import EMPTY, PIPE, Process, start_process
from toolgate.process.streaming import Bounds, follow
from toolgate.workspace.threads import Stop, Stopped


class Collected:
    """A sink that keeps everything."""

    def __init__(self) -> None:
        self.data = b""
        self.finished = False

    def feed(self, chunk: bytes) -> None:
        self.data += chunk

    def finish(self) -> None:
        self.finished = True


def start(code: str) -> Process:
    return start_process([sys.executable, "-c", code], stdin=EMPTY, stdout=PIPE, stderr=PIPE, bufsize=0)


def bounds(seconds: float = 60.0) -> Bounds:
    return Bounds(deadline=time.monotonic() + seconds, stop=Stop())


def test_the_output_and_the_messages_arrive() -> None:
    sink, process = Collected(), start("import sys; print('out'); print('message', file=sys.stderr)")
    end = follow([process], [sink], bounds())
    assert (sink.data, sink.finished) == (b"out\n", True)
    assert (end.complete, end.failed, end.messages) == (True, False, "message\n")


def test_every_process_has_its_own_sink() -> None:
    sinks = [Collected(), Collected()]
    follow([start("print(1)"), start("print(2)")], sinks, bounds())
    assert [sink.data for sink in sinks] == [b"1\n", b"2\n"]


def test_an_exit_code_is_a_failure() -> None:
    assert follow([start("raise SystemExit(3)")], [Collected()], bounds()).failed


def test_a_deadline_ends_the_process_and_finishes_what_has_arrived() -> None:
    sink, process = Collected(), start("import time; print('x', flush=True); time.sleep(600)")
    end = follow([process], [sink], bounds(2.0))
    assert (end.complete, end.failed, sink.finished) == (False, False, True)
    assert process.poll() is not None


def test_a_cancelled_call_ends_the_process() -> None:
    process, limits = start("import time; time.sleep(600)"), bounds()
    limits.stop.set()
    with pytest.raises(Stopped):
        follow([process], [Collected()], limits)
    assert process.poll() is not None


def test_the_rest_of_the_work_begins_when_the_processes_run() -> None:
    process = start("input()")
    seen: list[int | None] = []
    follow([process], [Collected()], bounds(), lambda: seen.append(process.returncode))
    assert seen == [None]


def test_a_failure_beside_the_processes_leaves_none_running() -> None:
    process = start("import time; time.sleep(600)")

    def fails() -> None:
        raise OSError("no thread")

    with pytest.raises(OSError, match="no thread"):
        follow([process], [Collected()], bounds(), fails)
    assert process.poll() is not None


def test_the_pipes_are_closed_and_every_process_is_reaped() -> None:
    processes = [start("raise SystemExit(1)"), start("print(1)")]
    follow(processes, [Collected(), Collected()], bounds())
    assert [process.returncode for process in processes] == [1, 0]
    assert all(pipe is not None and pipe.closed for process in processes for pipe in (process.stdout, process.stderr))
