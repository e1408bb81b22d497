"""The journal's record of a write."""

import os
import re
from dataclasses import dataclass
from typing import Any

Key = tuple[int, int, int, int]
"""Device, inode, size and modification time: these survive a rename, and any write changes them."""
MAX_REVERSIBLE = 64 << 20
"""Bytes of the largest old content that undo can restore. A larger one would push out the others, and soon itself."""


def can_keep(size: int) -> bool:
    """Whether the journal can keep an old content of this size, so that the write can be undone."""
    return size <= MAX_REVERSIBLE


@dataclass(frozen=True, slots=True, kw_only=True)
class Origin:
    """Which call made a change."""

    session_id: str = ""
    turn_id: str = ""
    call_id: str = ""
    tool: str = ""
    run: str = ""
    """Distinguishes calls with the same id: providers repeat ids."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Snapshot:
    """The state of a file."""

    dev: int
    ino: int
    size: int
    mtime_ns: int
    mode: int
    digest: str | None = None
    """Hash of the content, for small files."""

    @property
    def key(self) -> Key:
        """What identifies the state."""
        return (self.dev, self.ino, self.size, self.mtime_ns)

    @classmethod
    def of(cls, info: os.stat_result, digest: str | None = None) -> "Snapshot":
        """Return the state that `info` describes."""
        return cls(
            dev=info.st_dev,
            ino=info.st_ino,
            size=info.st_size,
            mtime_ns=info.st_mtime_ns,
            mode=info.st_mode,
            digest=digest,
        )

    def to_dict(self) -> dict[str, Any]:
        """Return plain JSON values."""
        return {name: getattr(self, name) for name in self.__slots__}

    @classmethod
    def from_dict(cls, document: dict[str, Any] | None) -> "Snapshot | None":
        """The reverse of `to_dict`."""
        return None if document is None else cls(**document)


@dataclass(frozen=True, slots=True, kw_only=True)
class Write:
    """A write that is about to happen: a file is created, replaced or removed."""

    path: str
    """Relative to the root."""
    before: Snapshot | None
    after: Snapshot | None
    made: tuple[str, ...] = ()
    kept: tuple[int, str] | None = None
    """The directory and name of the file that it replaces or removes."""


@dataclass(frozen=True, slots=True, kw_only=True)
class JournalEntry:
    """One write."""

    id: str
    time: float
    origin: Origin
    path: str
    """Relative to the root."""
    before: Snapshot | None
    """None: the file did not exist."""
    after: Snapshot | None
    """None: the file was removed."""
    made: tuple[str, ...] = ()
    """Directories that were created for it, outermost first."""

    def to_dict(self) -> dict[str, Any]:
        """Return plain JSON values."""
        origin = {name: getattr(self.origin, name) for name in self.origin.__slots__}
        before = self.before.to_dict() if self.before is not None else None
        after = self.after.to_dict() if self.after is not None else None
        return {
            "id": self.id,
            "time": self.time,
            "origin": origin,
            "path": self.path,
            "before": before,
            "after": after,
            "made": list(self.made),
        }

    @classmethod
    def from_dict(cls, document: dict[str, Any]) -> "JournalEntry":
        """The reverse of `to_dict`."""
        before, after = Snapshot.from_dict(document["before"]), Snapshot.from_dict(document["after"])
        if (before is None and after is None) or not re.fullmatch(r"[0-9a-f-]{36}", document["id"]):
            raise ValueError("not an entry of the journal")
        return cls(
            id=document["id"],
            time=document["time"],
            origin=Origin(**document["origin"]),
            path=document["path"],
            before=before,
            after=after,
            made=tuple(document["made"]),
        )
