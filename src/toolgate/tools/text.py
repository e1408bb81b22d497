"""Model-facing text: a `.md` file beside the module that it belongs to."""

import functools
from pathlib import Path


@functools.cache
def load_text(module_file: str) -> str:
    """The text of the `.md` file beside `module_file` with the same name."""
    return Path(module_file).with_suffix(".md").read_text(encoding="utf-8").strip()
