"""Loads model-facing text from the `.md` file beside a module."""

import functools
from pathlib import Path


def counted(number: int, noun: str) -> str:
    """Return `1 line` or `2 lines`."""
    return f"{number} {noun}" if number == 1 else f"{number} {noun}s"


@functools.cache
def load_text(module_file: str) -> str:
    """The text of the `.md` file beside `module_file` with the same name."""
    return Path(module_file).with_suffix(".md").read_text(encoding="utf-8").strip()
