"""Makes hidden characters visible: control, bidirectional and zero-width characters, and long runs of blanks."""

import functools
import re
import unicodedata

from toolgate.text.redaction import mask

_HIDING = frozenset({"Cc", "Cf", "Cs", "Co", "Cn", "Zl", "Zp"})
"""Unicode categories that print nothing, or something misleading."""
_BLANK_LETTERS = frozenset("\u115f\u1160\u3164\uffa0\u2800\u034f\u17b4\u17b5\u180b\u180c\u180d\u180e")
"""Characters that count as letters or marks but print nothing."""
_PRINTED = bytes(range(0x20, 0x7F))
_RUN = re.compile(r"[^\S\n]{41,}|(?:[^\S\n]*\n){6,}|(?P<same>[^\s\w])(?P=same){199,}")


def visible(text: str, keep: str = "\n\t") -> str:
    """Return `text` with every control, format, bidirectional, zero-width and unusual space character as an escape."""
    if text.isascii() and (text.isprintable() or not text.encode().translate(None, _kept(keep))):
        return text
    return _odd(keep).sub(lambda found: found[0] if _plain(found[0], keep) else _escape(found[0]), text)


@functools.cache
def _kept(keep: str) -> bytes:
    """The ASCII characters that stay as they are, as bytes."""
    return _PRINTED + keep.encode()


@functools.cache
def _odd(keep: str) -> re.Pattern[str]:
    """Matches the characters that have to be looked at."""
    return re.compile(f"[^ -~{re.escape(keep)}]")


def visible_without(secrets: tuple[str, ...], *texts: str) -> list[str]:
    """Prepare each text for a person: mask the runtime's secrets and make hidden characters visible."""
    return [visible(mask(text, secrets)) for text in texts]


def _plain(character: str, keep: str) -> bool:
    if character == " " or character in keep:
        return True
    category = unicodedata.category(character)
    variation = "\ufe00" <= character <= "\ufe0f" or "\U000e0100" <= character <= "\U000e01ef"
    return not (category in _HIDING or category == "Zs" or character in _BLANK_LETTERS or variation)


def _escape(character: str) -> str:
    named = {"\n": "\\n", "\r": "\\r", "\t": "\\t"}.get(character)
    if named is not None:
        return named
    code = ord(character)
    if code < 0x100:
        return f"\\x{code:02x}"
    return f"\\u{code:04x}" if code < 0x10000 else f"\\U{code:08x}"


def collapse_runs(text: str) -> str:
    """Replace long runs of blanks, empty lines or one symbol with their count, so that nothing hides behind them."""
    return _RUN.sub(_count, text)


def _count(run: re.Match[str]) -> str:
    found = run.group()
    if run["same"]:
        return f"{found[0]}⟨repeated {len(found)} times⟩"
    if "\n" in found:
        return f"\n⟨{found.count(chr(10))} line breaks, {len(found)} characters of blank space⟩\n"
    return f" ⟨{len(found)} blanks⟩ "
