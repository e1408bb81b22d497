"""Sentences about invalid settings, one per setting. No sentence contains a value, because it may be a secret."""

from __future__ import annotations

from collections.abc import Iterable

from pydantic import ValidationError

_PREFIX = "TOOLGATE_"
_NEAR = 0.78
"""How much of a name must be the same; the variables that Kubernetes makes have at most 0.75."""


def problems_of(error: ValidationError, known: Iterable[str], area: str = "") -> list[str]:
    """Return the sentences; `known` are the names that there are in `area` (empty: among all settings)."""
    names, sentences = list(known), list[str]()
    for item in error.errors(include_url=False, include_input=False, include_context=False):
        name = str(item["loc"][0]) if item["loc"] else ""
        setting = ".".join(filter(None, (area, name)))
        if item["type"] == "extra_forbidden":
            sentences.append(f"{setting} is not a setting. {_meant(name, names)}")
        else:
            sentences.append(f"{setting}: {item['msg'].removeprefix('Value error, ')}")
    return sentences


def misspelt(names: Iterable[str], known: Iterable[str]) -> list[str]:
    """Return a sentence for every environment variable that looks like a misspelt one of `known`.

    Other variables with the prefix are ignored: Kubernetes creates such variables for a service named toolgate.
    """
    import difflib

    words = {name.removeprefix(_PREFIX): name for name in known}
    sentences = list[str]()
    for name in sorted(names):
        near = difflib.get_close_matches(name.removeprefix(_PREFIX), words, n=1, cutoff=_NEAR)
        if near:
            sentences.append(f"{name} is not a setting. Did you mean {words[near[0]]}?")
    return sentences


def _meant(name: str, known: list[str]) -> str:
    import difflib

    near = difflib.get_close_matches(name, known, n=1)
    return f"Did you mean {near[0]}?" if near else f"There are: {', '.join(known)}."
