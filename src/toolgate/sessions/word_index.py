"""Splits text into words for a full-text index, also in scripts that write no spaces between words."""

from __future__ import annotations

import re
import unicodedata
from collections.abc import Iterator

_MAX_WORD = 64
"""Characters of a word; the rest of it does not count."""
_MAX_WORDS = 4_000
"""Words of a text that are indexed."""
_MAX_WANTED = 64
"""Words of a query that are searched for."""
_WORD = re.compile(r"\w+")
_SPACELESS = re.compile(
    "["
    "\u0e00-\u0eff"  # Thai, Lao
    "\u1000-\u109f\u1780-\u17ff"  # Burmese, Khmer
    "\u3005-\u3007\u3040-\u30ff\u31f0-\u31ff"  # Japanese kana
    "\u3400-\u4dbf\u4e00-\u9fff\uf900-\ufaff\U00020000-\U0003ffff"  # Han
    "\u1100-\u11ff\u3130-\u318f\uac00-\ud7af"  # Korean, whose words carry endings
    "]+"
)


def index_words(text: str) -> list[str]:
    """The words to find a text by. A run without spaces gives its characters and its pairs of characters."""
    return [word for run in _runs(text) for word in _parts(run, single=True)][:_MAX_WORDS]


def query_words(query: str) -> list[str]:
    """The words that a query asks for, each once. Operators of the index's query syntax are not among them."""
    found = [word for run in _runs(query) for word in _parts(run, single=len(run) == 1)]
    return list(dict.fromkeys(found))[:_MAX_WANTED]


def _runs(text: str) -> Iterator[str]:
    """Words, folded so that case, width and accents do not matter; spaceless runs apart from others."""
    folded = unicodedata.normalize("NFKC", text.casefold())
    for match in _WORD.finditer(folded.replace("_", " ")):
        word, position = match.group(), 0
        for run in _SPACELESS.finditer(word):
            if run.start() > position:
                yield word[position : run.start()]
            yield run.group()
            position = run.end()
        if position < len(word):
            yield word[position:]


def _parts(run: str, *, single: bool) -> Iterator[str]:
    if not _SPACELESS.match(run):
        plain = "".join(c for c in unicodedata.normalize("NFKD", run) if not unicodedata.combining(c))
        if plain:
            yield plain[:_MAX_WORD]
        return
    if single:
        yield from run
    yield from (run[at : at + 2] for at in range(len(run) - 1))
