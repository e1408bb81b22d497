"""`bash`: its help; what it unwraps is decided by the router."""

from pathlib import Path

SYNOPSIS = "bash <command>"


def help_text() -> str:
    """The synopsis and what there is to say."""
    return f"Usage: {SYNOPSIS}\n\n{Path(__file__).with_suffix('.md').read_text(encoding='utf-8').strip()}\n"
