"""Descriptors of a process: each is closed once, and writing to one never waits."""

import asyncio
import os

from toolgate.process.descriptors import Descriptors


async def test_a_text_larger_than_the_pipe_arrives_whole_and_the_pipe_is_closed() -> None:
    kept = Descriptors(asyncio.get_running_loop())
    reading, writing = kept.pipe()
    os.set_blocking(writing, False)
    text = os.urandom(500_000)

    kept.send(writing, text)
    arrived = await asyncio.to_thread(lambda: b"".join(iter(lambda: os.read(reading, 65536), b"")))

    assert arrived == text
    assert writing not in kept
    kept.close()


async def test_a_reader_that_went_away_costs_nothing() -> None:
    kept = Descriptors(asyncio.get_running_loop())
    reading, writing = kept.pipe()
    kept.drop(reading)

    kept.send(writing, b"x")

    assert writing not in kept


async def test_closing_closes_everything_once() -> None:
    kept = Descriptors(asyncio.get_running_loop())
    reading, writing = kept.pipe()
    os.set_blocking(writing, False)
    kept.send(writing, bytes(500_000))  # waits for a reader

    kept.close()
    kept.drop(reading)

    assert (reading in kept, writing in kept) == (False, False)
