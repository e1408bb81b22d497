"""Reads the page's sources: the texts that they translate, and texts for people that they do not."""

import re
from collections.abc import Iterator
from pathlib import Path

STATIC = Path(__file__).parents[2] / "src" / "toolgate" / "gateway" / "static"
_TAGGED = re.compile(r"(?<![\w.$])t`")
_COMMENT = re.compile(r"^\s*(//.*|/\*\*.*\*/)$", re.MULTILINE)
_HTML = re.compile(r"""(?:aria-label|placeholder|title)="([^"]+)"|>([^<>]*[A-Za-z][^<>]*)<""")
_QUOTED = re.compile(r'"((?:[^"\\\n]|\\.)*)"')
_FUNCTION_WORD = re.compile(r"\b(the|is|are|was|of|for|your|this|that|not|no|you|and|with|does|all|here)\b", re.I)
_NAMES = {
    *("Enter", "Escape", "Esc", "Tab", "Home", "End", "Shift", "ArrowUp", "ArrowDown", "ArrowLeft", "ArrowRight"),
    *("Bash", "Files", "Notification", "Toolgate", "Run: ", "Read ", "Reading ", "Searched", "Searching"),
    *("quiet of-last", "Bash ls -la", "We deploy on Fridays.", "this exact call"),
    *("Bearer {0}", "{0} · Toolgate", "toolgate chat", "&nbsp;"),
}
"""Names of keys, programs and classes, calls, and words of the gateway: the same in every language."""


def scripts() -> dict[str, str]:
    """Return the scripts of the page without their comments."""
    return {path.name: _COMMENT.sub("", path.read_text("utf-8")) for path in sorted(STATIC.glob("*.js"))}


def html_texts() -> set[str]:
    """Return what people read of the HTML files."""
    pages = "".join(path.read_text("utf-8") for path in STATIC.glob("*.html"))
    found = {(label or text).strip() for label, text in _HTML.findall(re.sub(r"<symbol.*", "", pages))}
    return found - _NAMES


def translated(script: str) -> Iterator[str]:
    """Yield the texts that a script translates, as they stand in the table."""
    for found in _TAGGED.finditer(script):
        yield _template(script, found.end())[0]


def untranslated(script: str) -> Iterator[str]:
    """Yield the texts of a script that look as if people read them, and that are not translated."""
    plain = (found[1] for found in _QUOTED.finditer(script))
    templates = (_template(script, found.end())[0] for found in re.finditer(r"(?<!\bt)`", _ends_removed(script)))
    for text in (*plain, *templates):
        sentence = " " in text.strip() and _FUNCTION_WORD.search(text)
        if text not in _NAMES and (sentence or re.match(r"\W*[A-Z][a-z]+", text)):
            yield text


def _ends_removed(script: str) -> str:
    """Return the script with a space in place of every backtick that ends a template."""
    at, ends = 0, list[int]()
    while (at := script.find("`", at)) >= 0:
        _, at = _template(script, at + 1, ends)
    return "".join(" " if place in ends else letter for place, letter in enumerate(script))


def _template(script: str, at: int, ends: list[int] | None = None) -> tuple[str, int]:
    """Return the text of a template that starts here, with numbers in place of its values, and where it ends."""
    text, values = "", 0
    while script[at] != "`":
        if script.startswith("${", at):
            text, values = f"{text}{{{values}}}", values + 1
            at = _after_value(script, at + 2, ends)
        else:
            step = 2 if script[at] == "\\" else 1
            text, at = text + script[at : at + step], at + step
    if ends is not None:
        ends.append(at)
    return text, at + 1


def _after_value(script: str, at: int, ends: list[int] | None) -> int:
    depth = 1
    while depth:
        if script[at] == "`":
            _, at = _template(script, at + 1, ends)
        elif script[at] == '"':
            quoted = _QUOTED.match(script, at)
            assert quoted
            at = quoted.end()
        else:
            depth += {"{": 1, "}": -1}.get(script[at], 0)
            at += 1
    return at
