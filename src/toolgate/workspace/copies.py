"""Copies of whole directories, for runs that may change anything in them."""

import shutil
import tempfile
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path


@contextmanager
def temporary_copy(source: Path) -> Iterator[Path]:
    """A copy of a directory in a directory of its own, removed at the end. Links are copied as links."""
    with tempfile.TemporaryDirectory(prefix="toolgate-run-", ignore_cleanup_errors=True) as place:
        copy = Path(place) / "workspace"
        shutil.copytree(source, copy, symlinks=True, ignore=shutil.ignore_patterns(".toolgate"))
        yield copy
