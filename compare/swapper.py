"""Exchanges two names of a directory again and again: `python -m compare.swapper ONE OTHER SECONDS`."""

from __future__ import annotations

import ctypes
import os
import sys
import time

_RENAME_EXCHANGE = 2
_HERE = -100  # AT_FDCWD


def main() -> None:
    """Swap until the time is over."""
    one, other = (os.fsencode(name) for name in sys.argv[1:3])
    deadline = time.monotonic() + float(sys.argv[3])
    exchange = ctypes.CDLL(None, use_errno=True).renameat2
    while time.monotonic() < deadline:
        for _ in range(100):
            if exchange(_HERE, one, _HERE, other, _RENAME_EXCHANGE):
                sys.exit(os.strerror(ctypes.get_errno()))


if __name__ == "__main__":
    main()
