"""From the JSON string that a model wrote to the arguments that a tool gets."""

import json
import math
import re
from collections.abc import Callable
from typing import Any

from toolgate.errors import ToolgateError

MAX_BYTES = 1 << 20
"""Arguments over this size are refused."""
MAX_DEPTH = 100
"""Arrays and objects nested deeper than this are refused."""
SURELY_SMALL = MAX_BYTES // 4
"""A text with this many characters is within the limit, whatever characters they are."""

_BLANK = " \t\r\n"
_SURROGATE_ESCAPE = re.compile(r"\\u[dD][89a-fA-F]")


class ArgumentsError(ToolgateError):
    """The string is not a JSON object that a tool could be called with; the text says why."""


def parse_arguments(text: str) -> dict[str, Any]:
    """The object in `text`; empty or blank text means `{}`."""
    if len(text) > SURELY_SMALL and (len(text) > MAX_BYTES or (not text.isascii() and len(_utf8(text)) > MAX_BYTES)):
        raise ArgumentsError(f"arguments are larger than {MAX_BYTES} bytes")
    begin = len(text) - len(text.lstrip(_BLANK))
    if begin == len(text):
        return {}
    if not text.isascii():
        _utf8(text)
    try:
        value, end = _scan(text, begin)
    except StopIteration as stop:
        raise ArgumentsError(_at("Expecting value", text, stop.value)) from None
    except json.JSONDecodeError as error:
        raise ArgumentsError(f"{error.msg} at line {error.lineno} column {error.colno}") from None
    except RecursionError:
        raise ArgumentsError(f"nested deeper than {MAX_DEPTH} levels") from None
    except ValueError as error:
        raise ArgumentsError(str(error)[:200]) from None
    if rest := text[end:].lstrip(_BLANK):
        raise ArgumentsError(_at("Extra data", text, len(text) - len(rest)))
    if type(value) is not dict:
        raise ArgumentsError("expected a JSON object")
    if text.count("[") + text.count("{") > MAX_DEPTH:
        _check_depth(value)
    if "\\u" in text and _SURROGATE_ESCAPE.search(text):
        _utf8(json.dumps(value, ensure_ascii=False))
    return value


def _at(problem: str, text: str, position: int) -> str:
    line, column = text.count("\n", 0, position) + 1, position - text.rfind("\n", 0, position)
    return f"{problem} at line {line} column {column}"


def _utf8(text: str) -> bytes:
    try:
        return text.encode()
    except UnicodeEncodeError as error:
        raise ArgumentsError(f"lone surrogate U+{ord(text[error.start]):04X}: text must be valid Unicode") from None


def _check_depth(value: Any) -> None:
    level: list[Any] = [value]
    for _ in range(MAX_DEPTH):
        level = [child for node in level for child in (node.values() if isinstance(node, dict) else node)]
        level = [child for child in level if isinstance(child, dict | list)]
        if not level:
            return
    raise ArgumentsError(f"nested deeper than {MAX_DEPTH} levels")


def _unique(pairs: list[tuple[str, Any]]) -> dict[str, Any]:
    value = dict(pairs)
    if len(value) != len(pairs):
        names = [name for name, _ in pairs]
        twice = sorted({name for name in names if names.count(name) > 1})
        raise ArgumentsError(f"duplicate key {', '.join(map(repr, twice))}")
    return value


def _constant(name: str) -> Any:
    raise ArgumentsError(f"{name} is not a JSON number")


def _finite(text: str) -> float:
    number = float(text)
    if math.isinf(number):
        raise ArgumentsError(f"the number {text[:40]} is too large")
    return number


_decoder: Any = json.JSONDecoder(object_pairs_hook=_unique, parse_constant=_constant, parse_float=_finite)
_scan: Callable[[str, int], tuple[Any, int]] = _decoder.scan_once
"""The value at a position, and where it ends. `StopIteration` has the position where a value is missing."""
