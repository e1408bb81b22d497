"""Waiting for what a tool waits for: whatever it ends with, the caller goes on."""

import asyncio
from collections.abc import Generator
from typing import Any

from toolgate.runtime.future_relay import relayed


class Waiting:
    """Awaits a future through the relay."""

    def __init__(self, waited: Any) -> None:
        self.waited = waited
        self.interrupted = 0

    def interrupt(self) -> None:
        self.interrupted += 1

    def __await__(self) -> Generator[Any, None, BaseException | None]:
        return relayed(self.waited, asyncio.get_running_loop(), self.interrupt)


async def test_a_result_raises_nothing() -> None:
    async def work() -> int:
        return 7

    task = asyncio.ensure_future(work())

    assert await Waiting(task) is None
    assert task.result() == 7


async def test_a_failure_is_handed_over_and_not_raised() -> None:
    async def work() -> None:
        raise ValueError("broken")

    failure = await Waiting(asyncio.ensure_future(work()))

    assert isinstance(failure, ValueError)


async def test_a_generator_exit_becomes_an_ordinary_error() -> None:
    future = asyncio.get_running_loop().create_future()
    future.set_exception(GeneratorExit())

    assert isinstance(await Waiting(future), RuntimeError)


async def test_cancelling_goes_to_the_future() -> None:
    future = asyncio.get_running_loop().create_future()

    async def wait() -> BaseException | None:
        return await Waiting(future)

    task = asyncio.ensure_future(wait())
    await asyncio.sleep(0)
    task.cancel()

    assert isinstance(await task, asyncio.CancelledError)
    assert future.cancelled()
