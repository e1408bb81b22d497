"""Names of tools: which are valid, and which look alike."""

from __future__ import annotations

import re

from toolgate.errors import DeclarationError

LOAD_TOOL = "load_tools"
SKILL_TOOL = "skill"
MAX_NAME = 64
_NAME = re.compile(rf"[A-Za-z0-9_-]{{1,{MAX_NAME}}}")
_RULE = f"a name has 1 to {MAX_NAME} characters: ASCII letters, digits, '_' and '-'"
_LOOSE_SEPARATORS = re.compile(r"(?<![0-9])[_-]+|[_-]+(?![0-9])")
_SEPARATORS = re.compile(r"[_-]+")
_SAME_SHAPE = str.maketrans({"I": "l", "1": "l", "0": "o", "O": "o"})


def checked_name(name: object) -> str:
    """`name` as plain text; `DeclarationError` if it is not a valid name for a tool."""
    if not isinstance(name, str):
        raise DeclarationError(f"a tool needs a name that is text, not {type(name).__name__}: {_RULE}")
    plain = str.__str__(name)
    if not plain.strip():
        raise DeclarationError(f"a tool needs a name: {_RULE}")
    if _NAME.fullmatch(plain) is None:
        raise DeclarationError(f"{plain[: 2 * MAX_NAME]!a} cannot name a tool: {_RULE}")
    return plain


def looks_of(name: str) -> tuple[str, str]:
    """Two keys of a name; two names that share either of them are hard to tell apart.

    The first key ignores case and separators. The second one also ignores the difference between characters that have
    nearly the same shape: I, l and 1; O and 0; rn and m; vv and w. A separator between two digits counts, because
    `step_1_11` and `step_11_1` are different names.
    """
    bare = _SEPARATORS.sub("_", _LOOSE_SEPARATORS.sub("", name))
    shape = bare.translate(_SAME_SHAPE).lower().replace("rn", "m").replace("vv", "w")
    return f"case:{bare.lower()}", f"shape:{shape}"
