"""Bash's syntax: words, statements, heredocs. Read in one pass, strictly, without running or expanding anything."""

from toolgate.command.syntax.grammar import Grammar
from toolgate.command.syntax.lexing import MAX_DEPTH, UnparsableError
from toolgate.command.syntax.tree import (
    AndOr,
    Assign,
    Compound,
    Lexeme,
    Part,
    Pipeline,
    Redirect,
    Sequence,
    Simple,
)

__all__ = [
    "MAX_DEPTH",
    "AndOr",
    "Assign",
    "Compound",
    "Grammar",
    "Lexeme",
    "Part",
    "Pipeline",
    "Redirect",
    "Sequence",
    "Simple",
    "UnparsableError",
]
