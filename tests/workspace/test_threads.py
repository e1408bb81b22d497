"""Blocking work in threads."""

import asyncio
import subprocess
import sys
import threading
from typing import Any

import pytest

from toolgate.workspace.threads import MAX_THREADS, Stop, Stopped, in_thread


async def test_the_value_comes_back_and_the_thread_is_gone() -> None:
    before = threading.active_count()

    assert await in_thread(lambda stop, a, b: a + b, 1, b=2) == 3
    assert threading.active_count() == before


async def test_an_exception_comes_back() -> None:
    def fail(stop: Stop) -> None:
        raise KeyError("x")

    with pytest.raises(KeyError):
        await in_thread(fail)


async def test_cancelling_stops_the_thread_before_it_is_reported() -> None:
    started, ended = threading.Event(), threading.Event()

    def work(stop: Stop) -> None:
        started.set()
        try:
            while True:
                stop.check()
        finally:
            ended.set()

    task = asyncio.create_task(in_thread(work))
    while not started.is_set():
        await asyncio.sleep(0)
    task.cancel()
    with pytest.raises(asyncio.CancelledError):
        await task

    assert ended.is_set()


async def test_cancelling_twice_still_waits_for_the_end() -> None:
    started, release, ended = threading.Event(), threading.Event(), threading.Event()

    def stubborn(stop: Stop) -> None:
        started.set()
        release.wait(60)
        ended.set()

    task = asyncio.create_task(in_thread(stubborn))
    while not started.is_set():
        await asyncio.sleep(0)
    for _ in range(2):
        task.cancel()
        await asyncio.sleep(0.01)
    assert not task.done()
    release.set()
    with pytest.raises(asyncio.CancelledError):
        await task

    assert ended.is_set()


async def test_only_so_many_threads_run_at_a_time() -> None:
    running, peak, lock = 0, 0, threading.Lock()

    def work(stop: Stop) -> None:
        nonlocal running, peak
        with lock:
            running += 1
            peak = max(peak, running)
        threading.Event().wait(0.002)
        with lock:
            running -= 1

    await asyncio.gather(*(in_thread(work) for _ in range(3 * MAX_THREADS)))

    assert peak <= MAX_THREADS


def test_stopped_is_not_swallowed_by_handlers_of_ordinary_failures() -> None:
    stop = Stop()
    stop.check()
    stop.set()

    assert not issubclass(Stopped, Exception)
    with pytest.raises(Stopped):
        stop.check()


WITHOUT_MEMORY = """
import asyncio, os, resource, sys, threading
from pathlib import Path
from toolgate.workspace.threads import in_thread

async def main():
    for _ in range(3):
        await in_thread(lambda stop: None)  # its stack is kept for the next thread
    hold, used, spare = [None] * 400_000, 0, bytearray(20_000)
    pages = int(Path("/proc/self/statm").read_text().split()[0])
    resource.setrlimit(resource.RLIMIT_AS, (pages * resource.getpagesize(), resource.RLIM_INFINITY))
    for size in (1 << 22, 1 << 18, 1 << 14, 1 << 10, 200, 24):
        try:
            while used < len(hold):
                hold[used] = bytes(size)
                used += 1
        except MemoryError:
            pass
    del spare
    try:
        await in_thread(lambda stop: None)
        ended = b"it ran"
    except MemoryError:
        ended = b"MemoryError"
    os.write(1, ended)
    del hold
    resource.setrlimit(resource.RLIMIT_AS, (resource.RLIM_INFINITY, resource.RLIM_INFINITY))
    os.write(1, b" " + await in_thread(lambda stop: b"and the next ran"))

asyncio.run(main())
"""


def test_without_memory_a_thread_is_refused_and_nothing_waits_for_it() -> None:
    done = subprocess.run([sys.executable, "-c", WITHOUT_MEMORY], capture_output=True, timeout=50, check=False)

    assert done.stdout == b"MemoryError and the next ran", done.stderr.decode()


async def test_an_outcome_that_cannot_be_handed_over_becomes_a_memory_error(monkeypatch: pytest.MonkeyPatch) -> None:
    loop = asyncio.get_running_loop()
    real, failures = loop.call_soon_threadsafe, [MemoryError()]

    def starved(*arguments: Any) -> asyncio.Handle:
        if failures:
            raise failures.pop()
        return real(*arguments)

    monkeypatch.setattr(loop, "call_soon_threadsafe", starved)

    with pytest.raises(MemoryError):
        await in_thread(lambda stop: "large")
