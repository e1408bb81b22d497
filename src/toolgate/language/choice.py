"""Which language a person reads, from a setting, the environment or a browser's header."""

from __future__ import annotations

import re
from collections.abc import Mapping
from typing import Literal

ENGLISH = "en"
LANGUAGES = {ENGLISH: "English", "zh-CN": "简体中文"}
"""The languages that there are, by their tag, in their own words."""
LanguageSetting = Literal["auto", "en", "zh-CN"]
"""What `TOOLGATE_LANGUAGE` accepts: a language, or `auto` for that of the terminal or the browser."""
VARIABLE = "TOOLGATE_LANGUAGE"
_LOCALE = ("LC_ALL", "LC_MESSAGES", "LANG")
_SIMPLIFIED_CHINESE = re.compile(r"zh([-_](hans([-_]\w+)?|cn|sg|my))?", re.IGNORECASE)
_ENGLISH = re.compile(r"en([-_]\w+)*", re.IGNORECASE)
_WEIGHT = r"\s*q\s*=\s*([01](\.\d{0,3})?)\s*"
_MAX_LANGUAGES = 50
"""Languages of a header that are looked at."""


def match(tag: str) -> str | None:
    """Return the language for a tag (`zh-Hans-CN`) or a locale (`zh_CN.UTF-8`); None if there is none for it."""
    name = tag.partition(".")[0].partition("@")[0].strip()
    if _SIMPLIFIED_CHINESE.fullmatch(name):
        return "zh-CN"
    return ENGLISH if _ENGLISH.fullmatch(name) else None


def of_environment(environ: Mapping[str, str]) -> str:
    """Return the language of a terminal. The first of the locale's variables that is not empty decides."""
    setting = environ.get(VARIABLE, "")
    if setting in LANGUAGES:
        return setting
    locale = next((environ[name] for name in _LOCALE if environ.get(name)), "")
    return match(locale) or ENGLISH


def of_browser(accept_language: str) -> str:
    """Return the language that a browser's `Accept-Language` prefers; English if it names none of ours."""
    offers = list[tuple[float, int, str]]()
    for index, part in enumerate(accept_language.split(",", _MAX_LANGUAGES)[:_MAX_LANGUAGES]):
        tag, _, parameter = part.partition(";")
        quality = 1.0
        if parameter:
            weight = re.fullmatch(_WEIGHT, parameter)
            quality = float(weight[1]) if weight else 0.0
        if quality > 0 and (language := match(tag)):
            offers.append((-quality, index, language))
    return min(offers)[2] if offers else ENGLISH
