"""`translate`: a text in the language of the person at this process's terminal."""

from __future__ import annotations

import os

from toolgate.language.choice import of_environment
from toolgate.language.table import table

_chosen: str | None = None
"""The language of this process, like its locale; None: that of the environment."""


def use(language: str | None) -> None:
    """Speak this language from now on; None for that of the environment."""
    global _chosen
    _chosen = language


def current() -> str:
    """Return the language that `translate` speaks."""
    return _chosen or of_environment(os.environ)


def translate(text: str, **values: object) -> str:
    """Return the text in the person's language, with `{name}` replaced by the value of that name.

    `text` is the English text and must be written out in the call, or be marked with `translatable`, because tests look
    for it in the source. Without a translation the English text is used. Values are inserted as they are.
    """
    shown = table(current(), "terminal").get(text, text)
    return shown.format_map(values) if values else shown


def translatable(text: str) -> str:
    """Mark a text that is translated later, where it is shown."""
    return text
