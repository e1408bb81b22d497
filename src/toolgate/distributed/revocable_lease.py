"""The lease that a turn writes with: it can be taken from the turn at once, whether the database answers or not."""

from __future__ import annotations

from typing import Self

from pydantic import ConfigDict

from toolgate.sessions.types import Lease

_NOBODY = ""


class TurnLease(Lease):
    """A lease of the worker's that it can void: whatever the turn writes from then on is refused, as after a takeover.

    A turn that is stopped answers its open calls; where it only loses its session, nobody may ever read those answers.
    """

    model_config = ConfigDict(frozen=False, extra="forbid")

    @classmethod
    def of(cls, lease: Lease) -> Self:
        """The same right, until it is voided."""
        return cls(**lease.model_dump())

    def void(self) -> None:
        """Write nothing more with it."""
        self.owner = _NOBODY
