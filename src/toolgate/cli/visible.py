"""Text from elsewhere, made safe to show: nothing in it can move the cursor, hide or reverse what a person reads."""

import re
import unicodedata

_HIDING = frozenset({"Cc", "Cf", "Cs", "Co", "Cn", "Zl", "Zp"})
"""Categories that print as nothing, or as something else than they are."""
_RUN = re.compile(r"[^\S\n]{41,}|\n{6,}")


def visible(text: str, keep: str = "\n\t") -> str:
    """`text` with every control, format, bidirectional, zero-width and unusual space character as an escape."""
    if text.isascii() and text.isprintable():
        return text
    return "".join(character if _plain(character, keep) else _escape(character) for character in text)


def _plain(character: str, keep: str) -> bool:
    if character == " " or character in keep:
        return True
    category = unicodedata.category(character)
    return category not in _HIDING and category != "Zs"


def _escape(character: str) -> str:
    named = {"\n": "\\n", "\r": "\\r", "\t": "\\t"}.get(character)
    code = ord(character)
    if named is not None:
        return named
    return f"\\x{code:02x}" if code < 0x100 else f"\\u{code:04x}" if code < 0x10000 else f"\\U{code:08x}"


def squeezed(text: str) -> str:
    """`text` without room to hide in: long runs of spaces or empty lines become their count."""

    def count(run: re.Match[str]) -> str:
        blank = run.group()
        what = "line breaks" if blank[0] == "\n" else "blanks"
        edge = "\n" if blank[0] == "\n" else ""
        return f"{edge}⟨{len(blank)} {what}⟩{edge}"

    return _RUN.sub(count, text)


def excerpt(text: str, *, lines: int, width: int) -> tuple[str, bool]:
    """The start and the end of `text`, what is left out counted; and whether anything was left out."""
    rows = text.split("\n")
    cut = len(rows) > lines
    if cut:
        half = lines // 2
        rows = [*rows[:half], f"⟨{len(rows) - 2 * half} lines left out⟩", *rows[-half:]]
    clipped = [_clip(row, width) for row in rows]
    return "\n".join(clipped), cut or clipped != rows


def _clip(row: str, width: int) -> str:
    if len(row) <= width:
        return row
    half = width // 2
    return f"{row[:half]}⟨{len(row) - 2 * half} characters left out⟩{row[-half:]}"
