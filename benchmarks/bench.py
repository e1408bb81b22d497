"""What a benchmark is. A module `bench_<name>.py` takes part by defining one or more `Bench` objects.

Standard library only: workers of peers import this under their own interpreter.
"""

from collections.abc import Awaitable, Callable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any


@dataclass(frozen=True, kw_only=True)
class Sample:
    """One measured value, in the benchmark's unit, and numbers to show beside it."""

    value: float
    extra: Mapping[str, float] = field(default_factory=dict)


@dataclass(frozen=True, kw_only=True)
class Target:
    """A ratio (or, with `extra`, an absolute number) that must not be exceeded."""

    contender: str
    case: str
    at_most: float
    against: str | None = None
    """The contender that is 1.0; the benchmark's floor if None."""
    against_case: str | None = None
    """The case that is 1.0; the same one if None."""
    extra: str | None = None
    """Judge this extra number instead of the ratio."""


async def _as_it_is(implementation: Any) -> Any:
    return implementation


@dataclass(frozen=True, kw_only=True)
class Bench:
    """Contenders doing the same work, one in a process at a time, in shuffled rounds."""

    name: str
    unit: str
    cases: Sequence[str]
    floor: str
    """The contender that every ratio is against."""
    references: Sequence[str] = ()
    """Contenders that are further lower bounds: drawn in the floor's colour."""
    contenders: Mapping[str, Any]
    """Name → implementation. Floors and Toolgate; both run in the project's own environment."""
    measure: Callable[[Any, str], Awaitable[Sample]]
    """Runs in the worker: (what `setup` returned, case) → one sample. It checks the answer, too."""
    setup: Callable[[Any], Awaitable[Any]] = _as_it_is
    """Runs in the worker, once: implementation → whatever `measure` wants."""
    prepare: Callable[[], None] | None = None
    """Runs once, before all workers: test data."""
    targets: Sequence[Target] = ()
    role: str | None = None
    """Attribute of the modules in benchmarks/peers that holds a peer's implementation; None: no peer takes part."""
    fresh: bool = False
    """A new process for every sample, for what depends on a cold cache or on memory."""
    rounds: int = 5
    timeout: float = 240.0
    note: str = ""
