"""Running the rows of a test module once more, as an unprivileged user."""

import asyncio
import contextlib
import inspect
import itertools
import os
from collections.abc import AsyncIterator, Callable, Iterator
from contextlib import AbstractAsyncContextManager, AsyncExitStack, asynccontextmanager
from pathlib import Path
from types import ModuleType
from typing import Any

from tests.support.privileges import NOBODY, public_directory, run_as

Fixture = Callable[[Path], AbstractAsyncContextManager[Any]]


def rows(module: ModuleType, prefix: str) -> list[tuple[str, Callable[..., Any], dict[str, Any]]]:
    """Every test of the module whose name begins so, with each set of its parameters."""
    found = []
    for name, function in vars(module).items():
        if name.startswith(prefix) and inspect.iscoroutinefunction(function):
            found += [(name, function, arguments) for arguments in _arguments(function)]
    return found


def _arguments(function: Callable[..., Any]) -> Iterator[dict[str, Any]]:
    choices = []
    for mark in getattr(function, "pytestmark", []):
        if mark.name == "parametrize":
            names = mark.args[0] if not isinstance(mark.args[0], str) else mark.args[0].replace(" ", "").split(",")
            choices.append([dict(zip(names, v if len(names) > 1 else [v], strict=True)) for v in mark.args[1]])
    for combination in itertools.product(*choices):
        yield {name: value for part in combination for name, value in part.items()}


def run_rows_as_nobody(module: ModuleType, prefix: str, fixtures: dict[str, Fixture]) -> list[str]:
    """The names of the rows that ran, each in a directory of its own; the first that fails is an `AssertionError`."""
    chosen = rows(module, prefix)
    with public_directory("toolgate-rows-") as base:
        if os.geteuid() == 0:
            os.chown(base, NOBODY, NOBODY)
        run_as(NOBODY, lambda: asyncio.run(_run(chosen, base, fixtures)))
    return [name for name, _, _ in chosen]


async def _run(
    chosen: list[tuple[str, Callable[..., Any], dict[str, Any]]], base: Path, fixtures: dict[str, Fixture]
) -> None:
    for number, (name, function, arguments) in enumerate(chosen):
        place = base / str(number)
        place.mkdir()
        async with AsyncExitStack() as stack:
            for wanted in inspect.signature(function).parameters.keys() - arguments.keys():
                arguments = {**arguments, wanted: await stack.enter_async_context(fixtures[wanted](place))}
            with _naming(name):
                await function(**arguments)


@contextlib.contextmanager
def _naming(name: str) -> Iterator[None]:
    try:
        yield
    except Exception as error:
        raise AssertionError(f"{name} as nobody") from error


@asynccontextmanager
async def directory(place: Path) -> AsyncIterator[Path]:
    """`tmp_path`."""
    yield place
