"""Front matter of Markdown files: the part of YAML that people write there, without a YAML parser."""

from __future__ import annotations

_FENCE = "---"
_BLOCKS = frozenset({">", ">-", ">+", "|", "|-", "|+"})


def split_front_matter(text: str) -> tuple[dict[str, str], str]:
    """Return the keys at the top level with their text, and the body. A file without front matter is all body.

    Values are plain or quoted text, or a block (`>` or `|`). Lists and nested keys are left out.
    `ValueError` says what is wrong.
    """
    lines = text.replace("\r\n", "\n").lstrip("\ufeff").split("\n")
    if lines[0].rstrip() != _FENCE:
        return {}, text.replace("\r\n", "\n").lstrip("\ufeff").strip()
    end = next((number for number, line in enumerate(lines[1:], 1) if line.rstrip() == _FENCE), None)
    if end is None:
        raise ValueError("its front matter has no end: a line '---'")
    return _keys(lines[1:end]), "\n".join(lines[end + 1 :]).strip()


def _keys(lines: list[str]) -> dict[str, str]:
    found: dict[str, str] = {}
    number = 0
    while number < len(lines):
        line = lines[number]
        number += 1
        if not line.strip() or line.lstrip().startswith("#") or line[:1].isspace() or line.startswith("-"):
            continue
        key, colon, value = line.partition(":")
        if not colon or not key.strip():
            raise ValueError(f"its front matter has a line without a key: {line.strip()[:80]!r}")
        if key.strip() in found:
            raise ValueError(f"{key.strip()[:80]!r} stands there twice")
        block: list[str] = []
        while number < len(lines) and (lines[number][:1].isspace() or not lines[number].strip()):
            block.append(lines[number].strip())
            number += 1
        found[key.strip()] = _value(value.strip(), block)
    return found


def _value(value: str, block: list[str]) -> str:
    """The text of a value; lines that follow with an indentation belong to it."""
    if value in _BLOCKS:
        return (" " if value.startswith(">") else "\n").join(block).strip()
    if len(value) > 1 and value[0] == value[-1] and value[0] in "'\"":
        quote = value[0]
        return value[1:-1].replace("''" if quote == "'" else '\\"', quote)
    return " ".join([value, *block]).strip() if value else ""
