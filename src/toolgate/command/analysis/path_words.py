"""Words of a command that are paths outside the root."""

import re
from collections.abc import Sequence

from toolgate.command.analysis.program import Program
from toolgate.command.analysis.readers.copying import target_directory
from toolgate.command.analysis.readers.sed import edits_in_place
from toolgate.command.analysis.scope import Scope
from toolgate.command.words import Word

_ATTACHED_PATH = re.compile(r"-(?![IL]/)[A-Za-z]+([/~].+|\.\./.*)")
"""`-C/path`; `-I/path` and `-L/path` name what a compiler reads."""
_TEXT_OPTIONS = frozenset(
    """
    --regexp --expression --message --grep --glob --include --exclude --exclude-dir --header --data --data-raw
    -name -iname -path -ipath -wholename -regex --title --body --path-regex --format --author --since
    """.split()
)
"""Options of any program whose value is text and no path."""
_PATTERN_OPTIONS = frozenset({"-e", "-f", "--regexp", "--file", "--expression"})
"""With one of these the first operand is no pattern."""


def judge_paths(scope: Scope, words: Sequence[Word], known: Program) -> None:
    """Note every word that is a path outside the root."""
    if not any("/" in word.text or "~" in word.text or ".." in word.text for word in words):
        return
    name = words[0].text
    pattern = known.pattern and not any(word.text in _PATTERN_OPTIONS for word in words)
    skip = False
    reads = known.reads_operands or (known.reads and not edits_in_place(words))
    last_source = len(words) if name == "cp" and target_directory(words) else len(words) - 1
    for at, word in enumerate(words[1:], 1):
        text = word.text
        if skip:
            skip = False
            continue
        if text.startswith("-"):
            skip = text in _TEXT_OPTIONS or text in known.texts
            text = _option_value(text, only_text=reads or known.pattern)
        elif pattern:
            pattern = False
            continue
        for piece in _pieces(text):
            if piece.startswith(("/", "~")) or ".." in piece.split("/"):
                scope.path(piece, reads=reads or (name == "cp" and at < last_source))


def _option_value(text: str, *, only_text: bool) -> str:
    """What an option names behind `=`, or behind its letter unless that is `only_text`; empty if neither."""
    _, equals, value = text.partition("=")
    if equals:
        return value
    attached = None if only_text else _ATTACHED_PATH.fullmatch(text)
    return attached.group(1) if attached else ""


def _pieces(text: str) -> list[str]:
    """The text as a path, what stands behind its first `=`, and the alternatives of a brace expansion."""
    pieces = [text]
    if "=" in text and "://" not in text:
        pieces.append(text.partition("=")[2])
    if "{" in text and "," in text:
        pieces.extend(re.split(r"[{},]", text))
    return pieces
