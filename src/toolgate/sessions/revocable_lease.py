"""A lease that a worker can revoke at once, even while the database is unavailable."""

from __future__ import annotations

from typing import Self

from pydantic import ConfigDict

from toolgate.sessions.types import Lease

_NOBODY = ""


class TurnLease(Lease):
    """A worker's lease for one turn. After `void`, every write with it is refused, as after a takeover.

    A turn that is stopped answers its open calls. If it has only lost its session, those answers must not be stored.
    """

    model_config = ConfigDict(frozen=False, extra="forbid")

    @classmethod
    def of(cls, lease: Lease) -> Self:
        """A copy that can be voided."""
        return cls(**lease.model_dump())

    def void(self) -> None:
        """Refuse every further write with this lease."""
        self.owner = _NOBODY
