"""Identifiers that sort by the time they were made."""

import os
import time
import uuid


def uuid7() -> str:
    """A UUID of version 7: milliseconds since the epoch, then random bits."""
    value = (time.time_ns() // 1_000_000) << 80 | int.from_bytes(os.urandom(10), "big")
    value = value & ~(0xF << 76) | 0x7 << 76
    value = value & ~(0x3 << 62) | 0x2 << 62
    return str(uuid.UUID(int=value))
