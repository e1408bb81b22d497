"""Keys by their names, as the codes that a terminal sends for them."""

from __future__ import annotations

import re

from toolgate.errors import ToolError
from toolgate.protocol.codes import ErrorCode

_NAMED = {
    "enter": "\r",
    "tab": "\t",
    "escape": "\x1b",
    "space": " ",
    "backspace": "\x7f",
    "insert": "\x1b[2~",
    "delete": "\x1b[3~",
    "pageup": "\x1b[5~",
    "pagedown": "\x1b[6~",
    "s-tab": "\x1b[Z",
    **{f"f{number}": f"\x1bO{letter}" for number, letter in zip(range(1, 5), "PQRS", strict=True)},
    **{
        f"f{number}": f"\x1b[{code}~"
        for number, code in zip(range(5, 13), (15, 17, 18, 19, 20, 21, 23, 24), strict=True)
    },
}
_CURSOR = {"up": "A", "down": "B", "right": "C", "left": "D", "home": "H", "end": "F"}
_ALIASES = {
    "return": "enter",
    "cr": "enter",
    "esc": "escape",
    "bspace": "backspace",
    "btab": "s-tab",
    "shift-tab": "s-tab",
    "ic": "insert",
    "ins": "insert",
    "dc": "delete",
    "del": "delete",
    "pgup": "pageup",
    "page-up": "pageup",
    "page-down": "pagedown",
    "ppage": "pageup",
    "pgdn": "pagedown",
    "npage": "pagedown",
    **{f"{way}{kind}": way for way in _CURSOR for kind in ("arrow", "-arrow")},
    **{f"arrow{way}": way for way in _CURSOR},
}
"""What tmux, browsers and people call them."""
_CONTROL = re.compile(r"(?:(?:c|ctrl|control)[-+]|\^)([a-z\[\]\\^_@])")
_META = re.compile(r"(?:m|alt)-([\x21-\x7e])")
_EXAMPLES = (
    "Enter, Tab, Escape, Space, Backspace, Delete, Up, Down, Left, Right, Home, End, PageUp, PageDown, F1, C-c, M-x"
)

END_OF_INPUT = "\x04"


def key_code(name: str, *, application: bool = False) -> str:
    """What a key sends. `application` is the mode of the cursor keys that a program has chosen."""
    key = name.strip().lower()
    key = _ALIASES.get(key.replace("+", "-").replace("_", "-"), key)
    if key in _CURSOR:
        return f"\x1b{'O' if application else '['}{_CURSOR[key]}"
    if key in _NAMED:
        return _NAMED[key]
    if match := _CONTROL.fullmatch(key):
        return chr(ord(match[1].upper()) & 0x1F)
    if match := _META.fullmatch(name.strip().replace("Alt-", "M-").replace("alt-", "m-").replace("M-", "m-")):
        return f"\x1b{match[1]}"
    raise ToolError(
        ErrorCode.INVALID_PARAM,
        f"Invalid parameters for Terminal: there is no key {name[:40]!r}.",
        f"Use names such as {_EXAMPLES}; send everything else as text.",
    )
