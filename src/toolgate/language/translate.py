"""`translate`: a text in the language of the person at this process's terminal."""

from __future__ import annotations

import functools
import os
import re
from contextvars import ContextVar

from toolgate.language.choice import of_environment
from toolgate.language.table import Surface, table

_chosen: ContextVar[str | None] = ContextVar("language", default=None)
"""The language of this program, or of the request that is answered; None: that of the environment."""

_OWN_LINE = r"because: |asked every time: |in: "
"""Lines that an approval request adds to a command."""
_MAX_CHARACTERS = 4000
"""Characters of a text that is compared with the patterns; the time that this takes may grow with their square."""


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
    return _matched(text, "approval") or text


def reason(text: str) -> str:
    """Return why a call is allowed, asked about or denied, which is English in requests and records.

    Several reasons are separated by semicolons. A reason that no pattern of the table knows, such as the words of a
    person's own rule, is returned as it is.
    """
    known = table(current(), "reason")
    if not known:
        return text
    return known.get(text) or "；".join(_matched(part, "reason") or part for part in text.split("; "))


def explained(detail: str) -> str:
    """Return the detail of an approval request with its own lines about a command in the person's language.

    The command itself, which is the first line or stands after a gutter, is never changed.
    """
    if not table(current(), "reason"):
        return detail
    first, *lines = detail.split("\n")
    own = (re.match(_OWN_LINE, line) and _matched(line, "reason") for line in lines)
    return "\n".join([first, *(shown or line for shown, line in zip(own, lines, strict=True))])


def _matched(text: str, surface: Surface) -> str | None:
    if len(text) > _MAX_CHARACTERS:
        return None
    for english, shown in table(current(), surface).items():
        if found := pattern_of(english).fullmatch(text):
            values = found.groupdict()
            if "reason" in values:
                values["reason"] = reason(values["reason"])
            return shown.format_map(values)
    return None


@functools.cache
def pattern_of(english: str) -> re.Pattern[str]:
    """Return the pattern of a text with values. A reason begins at the first place where it can."""
    value = ".+?" if "{reason}" in english else ".+"
    return re.compile(re.sub(r"\\\{(\w+)\\\}", rf"(?P<\1>{value})", re.escape(english)), re.DOTALL)
