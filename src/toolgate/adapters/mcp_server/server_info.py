"""What the server says about itself to every client. Its instructions for the model are in `server.md`."""

from __future__ import annotations

import importlib.metadata
from pathlib import Path

from toolgate.tools.text import load_text

NAME = "toolgate"
TITLE = "Toolgate"
INSTRUCTIONS = load_text(str(Path(__file__).with_name("server.py")))


def version() -> str:
    """Return the installed version."""
    return importlib.metadata.version("toolgate")
