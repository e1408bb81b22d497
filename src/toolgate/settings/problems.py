"""What is wrong with settings that a program gives, one sentence per setting. No sentence contains a value."""

from __future__ import annotations

import difflib
from collections.abc import Iterable

from pydantic import ValidationError


def problems_of(error: ValidationError, known: Iterable[str], area: str = "") -> list[str]:
    """Return the sentences; `known` are the names that there are in `area` (empty: among all settings)."""
    names, sentences = list(known), list[str]()
    for item in error.errors(include_url=False, include_input=False, include_context=False):
        name = str(item["loc"][0]) if item["loc"] else ""
        place = ".".join(filter(None, (area, name)))
        if item["type"] == "extra_forbidden":
            sentences.append(f"{place} is not a setting. {_meant(name, names)}")
        else:
            sentences.append(f"{place}: {item['msg'].removeprefix('Value error, ')}")
    return sentences


def _meant(name: str, known: list[str]) -> str:
    near = difflib.get_close_matches(name, known, n=1)
    return f"Did you mean {near[0]}?" if near else f"There are: {', '.join(known)}."
