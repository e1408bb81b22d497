"""Messages from the host: a byte, with an order in a memory file and descriptors beside it."""

import os
import struct
from typing import Any

MAX_DESCRIPTORS = 253
"""What the kernel passes on in one message."""
READY = b"+"


def received_descriptors(carried: list[Any]) -> list[int]:
    """Return the descriptors that came with a message, from what `recvmsg` says."""
    return [fd for _, _, data in carried for fd in struct.unpack(f"{len(data) // 4}i", data)]


def read_all(fd: int) -> bytes:
    """Read everything from the start of a descriptor."""
    text, position = b"", 0
    while chunk := os.pread(fd, 1 << 16, position):
        text += chunk
        position += len(chunk)
    return text
