"""Whether a model accepts pictures, as its server or its name says."""

from __future__ import annotations

import re
from collections.abc import Iterable
from typing import Any

_NAMES = re.compile(r"^(?:claude|gpt-4o|gpt-4\.1|gpt-5|o3|o4|gemini)|llava|vision|pixtral|-vl\b|vl-|gemma3|gemma-3")
"""Names of models that are known to accept pictures."""
_WORDS = ("vision", "multimodal", "image_input")
"""Words for this ability in the model lists of servers."""


def name_implies_vision(name: str) -> bool:
    """Whether a model with this name is known to accept pictures."""
    return _NAMES.search(name.lower().rpartition("/")[2]) is not None


def entry_implies_vision(row: dict[str, Any], name: str) -> bool:
    """Whether a model's entry in its server's list, or else its name, says that it accepts pictures."""
    capabilities: Any = row.get("capabilities")
    words: Iterable[Any] = capabilities if isinstance(capabilities, list | dict) else ()
    if any(str(word) in _WORDS for word in words) or row.get("type") == "vlm":
        return True
    return name_implies_vision(name)
