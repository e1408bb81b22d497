"""`translate`: a text in the language of the person at this process's terminal."""

from __future__ import annotations

import functools
import os
import re
from contextvars import ContextVar

from toolgate.language.choice import of_environment
from toolgate.language.table import table

_chosen: ContextVar[str | None] = ContextVar("language", default=None)
"""The language of this program, or of the request that is answered; None: that of the environment."""


def use(language: str | None) -> None:
    """Speak this language from now on, in this task and those that it starts; None for that of the environment."""
    _chosen.set(language)


def current() -> str:
    """Return the language that `translate` speaks."""
    return _chosen.get() or of_environment(os.environ)


def translate(text: str, /, **values: object) -> str:
    """Return the text in the person's language, with `{name}` replaced by the value of that name.

    `text` is the English text and must be written out in the call, or be marked with `translatable`, because tests look
    for it in the source. Without a translation the English text is used. Values are inserted as they are.
    """
    shown = table(current(), "terminal").get(text, text)
    return shown.format_map(values) if values else shown


def translatable(text: str) -> str:
    """Mark a text that is translated later, where it is shown."""
    return text


def phrase(text: str) -> str:
    """Return a sentence of an approval request, which is English in the request, in the person's language.

    A sentence that no pattern of the table knows is returned as it is.
    """
    for english, shown in table(current(), "approval").items():
        if found := _pattern(english).fullmatch(text):
            return shown.format_map(found.groupdict())
    return text


@functools.cache
def _pattern(english: str) -> re.Pattern[str]:
    return re.compile(re.sub(r"\\\{(\w+)\\\}", r"(?P<\1>.+)", re.escape(english)), re.DOTALL)
