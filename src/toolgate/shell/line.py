"""One simple command, read with the shell's own quoting."""

import re
from dataclasses import dataclass

from toolgate.shell.words import UNRESOLVED, Word, ansi_c, heredoc_value, unescape_double


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


class _UnclosedError(Exception):
    """A quote, an expansion or a heredoc without an end."""


_BLANK = re.compile(r"(?:[ \t]|\\\n)+")
_PLAIN = re.compile(r"[^ \t\n\\'\"`$;&|<>()#~]+|[#~]")
_OPERATOR = re.compile(r"<<<|<<-?|&&|\|\||[;&|<>]+|[()]|\n")
_NAMED = re.compile(r"\$(?:\w+|[@*#?$!-])")
_SPECIAL = re.compile(r"[\"\\$`]")


def read_line(text: str) -> Line:
    """Read one simple command with the shell's own quoting; nothing is expanded."""
    reader = _Reader(text)
    try:
        return reader.line()
    except _UnclosedError as error:
        return Line(words=tuple(reader.words), problem=str(error))


class _Reader:
    """A cursor over the text of a command line."""

    def __init__(self, text: str) -> None:
        self.text = text
        self.at = 0
        self.words: list[Word] = []

    def line(self) -> Line:
        """Words up to the end of the simple command, then whatever makes it more than one."""
        content: Word | None = None
        heredoc: tuple[Word, bool] | None = None
        while self.skip_blank():
            match = _OPERATOR.match(self.text, self.at)
            if match is None:
                self.words.append(self.word())
                continue
            operator = match.group()
            attached = bool(self.words) and self.text[self.at - 1].isdigit() and self.words[-1].raw.isdigit()
            if operator not in ("<<<", "<<", "<<-") or attached or content is not None or heredoc is not None:
                return self.ended(operator, content, heredoc)
            self.at = match.end()
            if not self.skip_blank() or _OPERATOR.match(self.text, self.at):
                raise _UnclosedError(f"nothing follows '{operator}'")
            if operator == "<<<":
                given = self.word()
                content = given._replace(text=given.text + "\n")
            else:
                heredoc = (self.word(), operator == "<<-")
        return self.ended("", content, heredoc)

    def ended(self, operator: str, content: Word | None, heredoc: tuple[Word, bool] | None) -> Line:
        """The line, if nothing but blanks (and the heredoc's text) follows."""
        if operator == ";" and self.text[self.at + 1 :].strip() == "" and heredoc is None:
            operator = ""
        elif operator == "\n":
            self.at += 1
            if heredoc is not None:
                content, heredoc = self.heredoc(*heredoc), None
            operator = "" if self.text[self.at :].strip() == "" else "\n"
        if heredoc is not None and not operator:
            raise _UnclosedError(f"the heredoc is not closed by a line '{heredoc[0].text}'")
        return Line(words=tuple(self.words), content=content, operator=operator)

    def skip_blank(self) -> bool:
        """Move to the next token; False at the end of the text."""
        match = _BLANK.match(self.text, self.at)
        if match:
            self.at = match.end()
        if self.text.startswith("#", self.at):
            end = self.text.find("\n", self.at)
            self.at = len(self.text) if end < 0 else end
        return self.at < len(self.text)

    def word(self) -> Word:
        """The word that begins here."""
        start = self.at
        parts: list[str] = []
        known, quoted = not self.text.startswith("~", start), False
        while self.at < len(self.text):
            character = self.text[self.at]
            if character in " \t\n;&|<>()":
                break
            plain = _PLAIN.match(self.text, self.at)
            if plain:
                parts.append(plain.group())
                self.at = plain.end()
                continue
            value, is_quote = self.piece(character)
            quoted = quoted or is_quote
            known = known and value is not None
            parts.append(UNRESOLVED if value is None else value)
        return Word("".join(parts), known, quoted, self.text[start : self.at])

    def piece(self, character: str) -> tuple[str | None, bool]:
        """A quoted piece or an expansion (None): its value, and whether it was a quote."""
        text, at = self.text, self.at
        if character == "\\":
            self.at += 2
            if at + 1 >= len(text):
                raise _UnclosedError("a backslash ends the command")
            return ("" if text[at + 1] == "\n" else text[at + 1]), text[at + 1] != "\n"
        if character == "'":
            self.at = self.after("'", at + 1, "a single quote")
            return text[at + 1 : self.at - 1], True
        if character == '"':
            self.at += 1
            return self.double(), True
        if text.startswith("$'", at):
            return self.ansi(), True
        if text.startswith('$"', at):
            self.at += 2
            return self.double(), True
        return self.expansion(), False

    def ansi(self) -> str | None:
        """The value of `$'…'`."""
        start = self.at + 2
        end = start
        while not self.text.startswith("'", end):
            end += 2 if self.text.startswith("\\", end) else 1
            if end >= len(self.text):
                raise _UnclosedError("a single quote is not closed")
        self.at = end + 1
        return ansi_c(self.text[start:end])

    def double(self) -> str | None:
        """The value up to the closing double quote; None if the shell expands something in it."""
        parts: list[str] = []
        known = True
        while True:
            match = _SPECIAL.search(self.text, self.at)
            if match is None:
                raise _UnclosedError("a double quote is not closed")
            parts.append(self.text[self.at : match.start()])
            self.at = match.start()
            if match.group() == '"':
                self.at += 1
                return "".join(parts) if known else None
            if match.group() == "\\":
                parts.append(unescape_double(self.text[self.at : self.at + 2]))
                self.at += 2
            elif (value := self.expansion()) is None:
                known = False
            else:
                parts.append(value)

    def expansion(self) -> str | None:
        """Skip what the shell expands (None), or take a `$` that stands for itself."""
        text, at = self.text, self.at
        if text[at] == "`":
            self.at = self.after("`", at + 1, "a backquote")
            return None
        named = _NAMED.match(text, at)
        if named:
            self.at = named.end()
            return None
        for opening, closing in (("${", "}"), ("$(", ")"), ("$[", "]")):
            if text.startswith(opening, at):
                self.at = at + 1
                self.nested(opening[1], closing)
                return None
        self.at += 1
        return "$"

    def nested(self, opening: str, closing: str) -> None:
        """Skip to the bracket that closes the one here, past quotes and nested ones."""
        depth = 0
        while self.at < len(self.text):
            character = self.text[self.at]
            if character in "\\'\"`" or self.text.startswith("$'", self.at):
                self.piece(character)
                continue
            depth += (character == opening) - (character == closing)
            self.at += 1
            if depth == 0:
                return
        raise _UnclosedError(f"'${opening}' is not closed")

    def after(self, mark: str, start: int, what: str) -> int:
        """The position behind the next `mark`."""
        end = self.text.find(mark, start)
        if end < 0:
            raise _UnclosedError(f"{what} is not closed")
        return end + 1

    def heredoc(self, delimiter: Word, tabs: bool) -> Word:
        """The text up to the line that is the delimiter; the cursor moves behind it."""
        lines: list[str] = []
        joined = False
        while self.at < len(self.text):
            end = self.text.find("\n", self.at)
            line = self.text[self.at :] if end < 0 else self.text[self.at : end]
            self.at = len(self.text) if end < 0 else end + 1
            stripped = line.lstrip("\t") if tabs and not joined else line
            if stripped == delimiter.text and not joined:
                return heredoc_value("".join(f"{line}\n" for line in lines), delimiter.quoted)
            lines.append(stripped)
            joined = not delimiter.quoted and (len(line) - len(line.rstrip("\\"))) % 2 == 1
        raise _UnclosedError(f"the heredoc is not closed by a line '{delimiter.text}'")
