"""Shell words: what quoting means."""

import re
from typing import NamedTuple

UNRESOLVED = "\N{REPLACEMENT CHARACTER}"
"""Stands in a word's text for what only the shell knows when it runs."""


_SINGLE = re.compile(r'"(?:[^"\\`@*]|\\.)*"', re.DOTALL)
"""One quotation, without what may still become several words (`"$@"`, `"${a[@]}"`)."""


class Word(NamedTuple):
    """One word of a command."""

    text: str
    """Its value, with `UNRESOLVED` for every part that is not known."""
    known: bool = True
    """Whether `text` is exactly the one word that the command gets."""
    quoted: bool = False
    """Whether any part of it was quoted: such a word is content, never an option."""
    raw: str = ""
    """As it was typed."""

    @property
    def is_single(self) -> bool:
        """Whether the command gets exactly one word: what the shell expands in it is not split."""
        return self.known or _SINGLE.fullmatch(self.raw) is not None


_ESCAPES = {"a": 7, "b": 8, "e": 27, "E": 27, "f": 12, "n": 10, "r": 13, "t": 9, "v": 11}
_ANSI = re.compile(
    rb"\\(?:x([0-9A-Fa-f]{1,2})|u([0-9A-Fa-f]{1,4})|U([0-9A-Fa-f]{1,8})|([0-7]{1,3})|c(.)|(.))|[^\\]+", re.DOTALL
)


def ansi_c(body: str) -> str | None:
    """The value of `$'body'`, or None if it is not valid text."""
    value = bytearray()
    for match in _ANSI.finditer(body.encode("utf-8", "surrogatepass")):
        piece = _ansi_piece(match)
        if piece is None:
            return None
        value += piece
    # bash ends such a string at its first NUL
    try:
        return value.split(b"\0", 1)[0].decode()
    except UnicodeDecodeError:
        return None


def _ansi_piece(match: re.Match[bytes]) -> bytes | None:
    hexadecimal, short, long, octal, control, other = match.groups()
    code = short or long
    if code is not None:
        number = int(code, 16)
        return chr(number).encode() if number < 0x110000 and not 0xD800 <= number < 0xE000 else None
    if hexadecimal is not None:
        return bytes([int(hexadecimal, 16)])
    if octal is not None:
        return bytes([int(octal, 8) & 0xFF])
    if control is not None:
        return bytes([control[0] & 0x1F])
    if other is None:
        return match.group()
    letter = other.decode("latin-1")
    if letter in _ESCAPES:
        return bytes([_ESCAPES[letter]])
    return bytes(other) if letter in "\\'\"?" else b"\\" + other


_HEREDOC_ESCAPE = re.compile(r"\\(?:\n()|([$`\\]))")
_HEREDOC_EXPANDS = re.compile(r"(?<!\\)(?:\\\\)*(?:`|\$[\w@*#?$!({\[-])")


def heredoc_value(body: str, literal: bool) -> Word:
    """What the reader of a heredoc gets: as it stands if the delimiter was quoted."""
    if literal:
        return Word(body, True, True, body)
    known = _HEREDOC_EXPANDS.search(body) is None
    return Word(_HEREDOC_ESCAPE.sub(r"\1\2", body), known, True, body)
