"""Postpones Python's garbage collection while much is allocated that is not garbage.

A full collection looks at every object of the process and lets no other thread run meanwhile, not even the one of the
event loop.
"""

from __future__ import annotations

import gc
import threading
from collections.abc import Iterator
from contextlib import contextmanager

_lock = threading.Lock()
_postponing = 0
_was_enabled = False


@contextmanager
def collection_postponed() -> Iterator[None]:
    """Disable collection within the block; several threads may do so. It stays disabled if it was before."""
    global _postponing, _was_enabled
    with _lock:
        if _postponing == 0:
            _was_enabled = gc.isenabled()
            gc.disable()
        _postponing += 1
    try:
        yield
    finally:
        with _lock:
            _postponing -= 1
            if _postponing == 0 and _was_enabled:
                gc.enable()
