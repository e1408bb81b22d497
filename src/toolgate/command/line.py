"""One simple command, read with the shell's own quoting and without expanding anything."""

import re
from dataclasses import dataclass

from toolgate.command.syntax import Grammar, Lexeme, Part, Simple, UnparsableError
from toolgate.command.syntax.lexing import unclosed
from toolgate.command.words import UNRESOLVED, Word, heredoc_value

_OPERATOR = re.compile(r"&&|\|\||\|&|[;&|]+|[()]|\n")
_MAX_WORDS = 1_000
"""No command of this runtime takes more words."""
_FEEDING = frozenset({"<<", "<<-", "<<<"})


@dataclass(frozen=True, slots=True, kw_only=True)
class Line:
    """A command line as far as one simple command goes."""

    words: tuple[Word, ...] = ()
    content: Word | None = None
    """What a heredoc or a herestring feeds to it."""
    operator: str = ""
    """The first operator that makes it more than one simple command; empty if it is one."""
    problem: str = ""
    """Why it cannot be read: an unclosed quote or heredoc."""


def read_line(text: str) -> Line:
    """Read one simple command."""
    reader = Grammar(text)
    reader.most_words = _MAX_WORDS
    try:
        reader.gap()
        command = reader.simple()
        if not isinstance(command, Simple):
            return Line(operator="(")
        words = tuple(_word(lexeme) for lexeme in command.words)
        operator = _end(reader) or _unusual(command)
    except UnparsableError as error:
        return Line(problem=str(error))
    return Line(words=words, content=None if operator else _content(command), operator=operator)


def first_word(text: str) -> Word | None:
    """The first word, whatever follows it; None if there is none that can be read."""
    reader = Grammar(text)
    try:
        reader.blank()
        lexeme = reader.word()
    except UnparsableError:
        return None
    return _word(lexeme) if lexeme.raw else None


def _end(reader: Grammar) -> str:
    """The operator after the command, if anything follows; the texts of its heredocs are read."""
    reader.blank()
    match = _OPERATOR.match(reader.text, reader.at)
    operator = match.group() if match else ""
    if operator == ";" and not reader.pending:
        reader.at += 1
    elif operator not in ("", "\n"):
        return operator
    if reader.gap():
        return operator or "\n"
    if reader.pending:
        raise unclosed(reader.pending[0])
    return ""


def _unusual(command: Simple) -> str:
    """What else makes it more than words: a redirection that feeds no content, or a variable."""
    if command.assigns:
        return "="
    given = [redirect.operator or ">" for redirect in command.redirects]
    return next((operator for operator in given if operator not in _FEEDING), "" if len(given) < 2 else given[1])


def _content(command: Simple) -> Word | None:
    for redirect in command.redirects:
        if redirect.heredoc is not None:
            return heredoc_value(redirect.heredoc.body or "", redirect.heredoc.quoted)
        given = _word(redirect.target)
        return given._replace(text=given.text + "\n")
    return None


def _word(lexeme: Lexeme) -> Word:
    parts = lexeme.parts if lexeme.parts is not None else (Part("bare", lexeme.raw),)
    known = all(part.kind in ("bare", "quoted") for part in parts) and not lexeme.raw.startswith("~")
    text = "".join(part.text if part.kind in ("bare", "quoted") else UNRESOLVED for part in parts)
    return Word(text, known, any(part.kind == "quoted" for part in parts), lexeme.raw)
