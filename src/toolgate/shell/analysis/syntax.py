"""The parser: tree-sitter's grammar for bash, loaded on first use."""

from __future__ import annotations

import functools
import re
import threading
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from tree_sitter import Language, Node

MAX_CODE = 20_000
"""Characters of code, heredocs aside, that a person can be expected to judge."""
_CONTROL = re.compile(r"[\x00-\x08\x0b-\x1f\x7f]")
_ASCII = bytes(range(128)) + b"," * 128
"""Every byte of a character that is not ASCII as a character that means nothing.

To bash such bytes are ordinary parts of words, so nothing is lost and every position stays the same. The grammar takes
some of them for blanks, and its lexer reads outside its memory on others: text from a model must never reach it.
"""
_local = threading.local()


@functools.cache
def _language() -> Language:
    import tree_sitter
    import tree_sitter_bash

    return tree_sitter.Language(tree_sitter_bash.language())


def parse(source: bytes) -> Node:
    """The syntax tree of shell code; it says itself whether there are errors in it."""
    parser = getattr(_local, "parser", None)
    if parser is None:
        import tree_sitter

        # a parser is not safe to share between threads
        parser = _local.parser = tree_sitter.Parser(_language())
    root: Node = parser.parse(source.translate(_ASCII)).root_node
    return root


def encode(text: str) -> tuple[bytes, str]:
    """The bytes to parse, and what is wrong with them: characters that bash and the grammar read differently."""
    try:
        source = text.encode()
    except UnicodeEncodeError:
        return text.encode(errors="replace"), "it contains characters that are no text"
    if not text.isprintable() and (match := _CONTROL.search(text)):
        return source, f"it contains the control character \\x{ord(match.group()):02x}"
    return source, ""
