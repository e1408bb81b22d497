"""Whether a model looks at pictures: what is set, else what its server says, else what its name says."""

from __future__ import annotations

import re
from collections.abc import Iterable
from typing import Any

_NAMES = re.compile(r"^(?:claude|gpt-4o|gpt-4\.1|gpt-5|o3|o4|gemini)|llava|vision|pixtral|-vl\b|vl-|gemma3|gemma-3")
"""Names of models that are known to look at pictures."""
_WORDS = ("vision", "multimodal", "image_input")
"""How servers say it in their lists of models."""


def named_as_seeing(name: str) -> bool:
    """Whether a model with this name is known to look at pictures."""
    return _NAMES.search(name.lower().rpartition("/")[2]) is not None


def listed_as_seeing(row: dict[str, Any], name: str) -> bool:
    """Whether a server's list says that a model looks at pictures, or its name does."""
    able: Any = row.get("capabilities")
    words: Iterable[Any] = able if isinstance(able, list | dict) else ()
    if any(str(word) in _WORDS for word in words) or row.get("type") == "vlm":
        return True
    return named_as_seeing(name)
