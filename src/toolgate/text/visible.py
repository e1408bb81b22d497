"""A command as a person is shown it: nothing in it can move the cursor, reverse, hide or push out of sight."""

import re
import unicodedata

from toolgate.text.redaction import mask

_HIDING = frozenset({"Cc", "Cf", "Cs", "Co", "Cn", "Zl", "Zp"})
"""Categories that print as nothing, or as something else than they are."""
_BLANK_LETTERS = frozenset("\u115f\u1160\u3164\uffa0\u2800\u034f\u17b4\u17b5\u180b\u180c\u180d\u180e")
"""Characters that count as letters or marks and print as nothing."""
_ODD = re.compile(r"[^ -~]")
_RUN = re.compile(r"[^\S\n]{41,}|(?:[^\S\n]*\n){6,}|(?P<same>[^\s\w])(?P=same){199,}")


def visible(text: str, keep: str = "\n\t") -> str:
    """`text` with every control, format, bidirectional, zero-width and unusual space character as an escape."""
    if text.isascii() and text.isprintable():
        return text
    return _ODD.sub(lambda found: found[0] if _plain(found[0], keep) else _escape(found[0]), text)


def visible_without(secrets: tuple[str, ...], *texts: str) -> list[str]:
    """Each text as a person may see it: without the runtime's own secrets, and with nothing in it that hides."""
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
    return f"\\x{code:02x}" if code < 0x100 else f"\\u{code:04x}" if code < 0x10000 else f"\\U{code:08x}"


def squeezed(text: str) -> str:
    """`text` without room to hide in: a long run of blanks, empty lines or one symbol becomes its count."""
    return _RUN.sub(_count, text)


def _count(run: re.Match[str]) -> str:
    found = run.group()
    if run["same"]:
        return f"{found[0]}⟨repeated {len(found)} times⟩"
    if "\n" in found:
        return f"\n⟨{found.count(chr(10))} line breaks, {len(found)} characters of blank space⟩\n"
    return f" ⟨{len(found)} blanks⟩ "
