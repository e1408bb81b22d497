"""What an attack is, and how it says that it got through."""

from __future__ import annotations

from collections.abc import Awaitable, Callable
from dataclasses import dataclass
from typing import TYPE_CHECKING, Literal

if TYPE_CHECKING:
    from redteam.arena import Arena

Layer = Literal["bwrap", "namespaces", "landlock", "off"]
LAYERS: tuple[Layer, ...] = ("bwrap", "namespaces", "landlock", "off")
"""`namespaces` and `landlock` are the two forms of the layer that the settings call `landlock`."""
VIEWS: tuple[Layer, ...] = ("bwrap", "namespaces")
"""The layers that give a command a file system of its own, and so can enforce `write`."""
CONFINED: tuple[Layer, ...] = ("bwrap", "namespaces", "landlock")
"""The layers that confine at all."""

Run = Callable[["Arena"], Awaitable[None]]


class Escaped(Exception):
    """A command reached, read or changed something that it must not."""


class Unasked(Exception):
    """Something happened that a person should have been asked about."""


class Broken(Exception):
    """Something legitimate no longer works."""


class NotApplicable(Exception):
    """The attack cannot be tried here; the message says why."""


@dataclass(frozen=True, slots=True)
class Attack:
    """One way in, and the promise that it tries to break."""

    name: str
    group: str
    promise: str
    layers: tuple[Layer, ...]
    run: Run


ATTACKS: list[Attack] = []


def attack(promise: str, *, layers: tuple[Layer, ...] = CONFINED) -> Callable[[Run], Run]:
    """Register an attack (or a control: something legitimate that has to work) on a promise."""

    def register(run: Run) -> Run:
        group = run.__module__.rpartition(".")[2].replace("_", " ")
        ATTACKS.append(Attack(run.__name__.replace("_", " "), group, promise, layers, run))
        return run

    return register
