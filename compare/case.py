"""What a case is: a definition of what is counted, and a function that counts it for one contender."""

from __future__ import annotations

import importlib
import pkgutil
from collections.abc import Callable
from dataclasses import dataclass
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from compare.arena import Arena


@dataclass(frozen=True, kw_only=True)
class Outcome:
    """What was counted. Less is better in every case."""

    bad: float
    of: int | None = None
    """How many were tried; None if `bad` is an amount and not a count."""
    asked: int = 0
    """How many of them asked a person who refused."""
    unfinished: bool = False
    """Whether it did not come to its end, so that the amount says little."""
    detail: tuple[str, ...] = ()
    """Which ones were bad, and what else a reader wants to know."""


@dataclass(frozen=True, kw_only=True)
class Case:
    """One row of the table."""

    name: str
    title: str
    counts: str
    """What is counted, in one or two neutral sentences."""
    run: Callable[[Arena], Outcome]
    needs: tuple[str, ...] = ()
    """The abilities without which a contender cannot take part."""
    any_of: tuple[str, ...] = ()
    """One of these abilities is enough."""
    unit: str = ""
    """The unit of an amount."""
    control_fails: bool = True
    """Whether the naive contender must be bad at it; False for rows that only describe."""
    control_least: float = 1
    """The least that the naive contender must show; less means that the case proves nothing here."""


def discover() -> list[Case]:
    """Every case, in the order of its module's `ORDER`."""
    import compare.cases

    modules = [
        importlib.import_module(f"compare.cases.{found.name}") for found in pkgutil.iter_modules(compare.cases.__path__)
    ]
    modules.sort(key=lambda module: module.ORDER)
    return [value for module in modules for value in vars(module).values() if isinstance(value, Case)]
