"""Recognises that a request was too long for the model, in the words of each provider and server."""

from __future__ import annotations

import functools
import re
from typing import Final, NamedTuple

_N = r"[\d,_]+"

WORDINGS: Final[tuple[tuple[str, str], ...]] = (
    # OpenAI and vLLM; `used` is what the input had, where it is told apart from the output
    (
        "OpenAI",
        rf"maximum context length is (?P<limit>{_N}) tokens.*?(?:resulted in|requested) (?P<all>{_N}) tokens"
        rf"(?: \((?P<used>{_N}) (?:in|of) )?",
    ),
    ("OpenAI", rf"input tokens exceed the configured limit of (?P<limit>{_N}) tokens.*?resulted in (?P<used>{_N})"),
    ("OpenAI", r"exceeds the context window of this model|context_length_exceeded"),
    ("Anthropic", rf"prompt is too long: (?P<used>{_N}) tokens > (?P<limit>{_N}) maximum"),
    ("Anthropic", rf"exceed context limit: (?P<used>{_N}) \+ {_N} > (?P<limit>{_N})"),
    ("llama.cpp", rf"request \((?P<used>{_N}) tokens\) exceeds the available context size \((?P<limit>{_N}) tokens\)"),
    ("llama.cpp", r"exceeds the available context size|exceed_context_size_error"),
    ("llama.cpp", rf"requested tokens \((?P<used>{_N})\) exceed context window of (?P<limit>{_N})"),
    ("vLLM", rf"prompt \((?:total )?length (?P<used>{_N})\).*?(?:length of|context length) (?P<limit>{_N})"),
    ("vLLM", rf"prompt \((?P<used>{_N}) tokens\) is too long and exceeds limit of (?P<limit>{_N})"),
    ("vLLM", rf"maximum context length is (?P<limit>{_N}) tokens and your request has (?P<used>{_N}) input tokens"),
    ("Ollama", r"prompt too long; exceeded max(?:imum)? context length"),
    ("Ollama", r"input (?:length )?exceeds (?:the )?(?:maximum )?context length"),
    ("LM Studio", rf"loaded with (?:a )?context length of only (?P<limit>{_N}) tokens"),
    ("LM Studio", r"tokens to keep from the initial prompt is greater than the context length"),
    ("others", rf"prompt is too long: (?P<used>{_N}), model maximum context length: (?P<limit>{_N})"),
    ("others", rf"(?:maximum context length|context window|context length) (?:is|of) (?P<limit>{_N})"),
    ("others", r"prompt is too long|too many tokens|maximum context|context[ _]length|context window"),
)
"""Provider → a pattern of its message, the most exact patterns first.

The group `limit` has the tokens that the model takes, and `used` those of the request. `all` also counts the output.
"""

_NUMBERS: Final = {"limit": rf"\bn_ctx\W+({_N})", "used": rf"\bn_prompt_tokens\W+({_N})"}
"""Patterns of the numbers that llama.cpp writes into other fields than the message."""
_MAX_CHARACTERS = 20_000


class Overflow(NamedTuple):
    """A request that was too long, and what is known of its size and of the model's."""

    limit: int | None
    """Tokens that the model takes."""
    used: int | None
    """Tokens that the request had."""


def find_overflow(message: str) -> Overflow | None:
    """Return the sizes in a message about a request that is too long; None if the message is about something else."""
    text = message[:_MAX_CHARACTERS]
    for pattern in _patterns():
        if found := pattern.search(text):
            groups = found.groupdict()
            limit = _number(groups.get("limit")) or _number_after(text, "limit")
            used = _number(groups.get("used")) or _number(groups.get("all")) or _number_after(text, "used")
            return Overflow(limit, used)
    return None


@functools.cache
def _patterns() -> tuple[re.Pattern[str], ...]:
    """Compile the patterns at the first error of a server. Most sessions never need them."""
    return tuple(re.compile(pattern, re.IGNORECASE | re.DOTALL) for _, pattern in WORDINGS)


def _number_after(text: str, name: str) -> int | None:
    found = re.search(_NUMBERS[name], text)
    return None if found is None else _number(found[1])


def _number(digits: str | None) -> int | None:
    value = int(re.sub(r"\D", "", digits or "") or "0")
    return value if 0 < value < 2**40 else None
