"""The tables: English text → text in another language, per surface, from the TOML file of the language beside this."""

from __future__ import annotations

import functools
from collections.abc import Mapping
from types import MappingProxyType
from typing import Literal

from toolgate.language.choice import ENGLISH, LANGUAGES

Surface = Literal["page", "terminal", "approval", "reason"]
"""Where a text is shown: on the web page, by the chat and the commands, or by both: approval requests, reasons."""


def table(language: str, surface: Surface) -> Mapping[str, str]:
    """Return the texts of a language. English, and a language that there is not, have none."""
    if language == ENGLISH or language not in LANGUAGES:
        return MappingProxyType({})
    return _tables(language)[surface]


@functools.cache
def _tables(language: str) -> Mapping[str, Mapping[str, str]]:
    import tomllib
    from pkgutil import get_data

    text = (get_data("toolgate.language", f"{language}.toml") or b"").decode()
    return {surface: MappingProxyType(texts) for surface, texts in tomllib.loads(text).items()}
