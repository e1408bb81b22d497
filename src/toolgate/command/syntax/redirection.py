"""Redirections and heredocs."""

import functools
import re

from toolgate.command.syntax.lexing import UnparsableError, WordReader, unclosed
from toolgate.command.syntax.tree import Heredoc, Lexeme, Part, Redirect

_OPERATOR = re.compile(r"<<<|<<-|<<|<&|<>|<|>>|>&|>\||>|&>>|&>")
_SILENT = re.compile(r"(?:2>&1|1?>&2|[12]?>/dev/null|&>/dev/null)(?=[ \t\n;&|)]|$)")
_NO_FILE = Redirect("", Lexeme(""))
_DESCRIPTOR = re.compile(r"(?:[0-9]+|\{[A-Za-z_][A-Za-z0-9_]*\})(?=[<>])")


class RedirectReader(WordReader):
    """Reads redirections, and what ends a line."""

    def gap(self) -> bool:
        """Skip blanks, comments and empty lines; False at the end of the text."""
        while True:
            self.blank()
            character = self.text[self.at : self.at + 1]
            if character == "#":
                end = self.text.find("\n", self.at)
                self.at = len(self.text) if end < 0 else end
            elif character == "\n":
                self.newline()
            else:
                return character != ""

    def newline(self) -> None:
        """A line ends: the texts of its heredocs follow."""
        self.at += 1
        pending, self.pending = self.pending, []
        for heredoc in pending:
            self.read_heredoc(heredoc)

    def some_word(self) -> Lexeme:
        """A word that must be there."""
        lexeme = self.word()
        if not lexeme.raw:
            raise self.unexpected()
        return lexeme

    def redirects(self) -> tuple[Redirect, ...]:
        """The redirections after a compound command."""
        return tuple(iter(self.redirect, None))

    def redirect(self) -> Redirect | None:
        """One redirection, if one begins here or after blanks."""
        self.blank()
        if silent := _SILENT.match(self.text, self.at):
            self.at = silent.end()
            return _NO_FILE
        descriptor = _DESCRIPTOR.match(self.text, self.at)
        start = descriptor.end() if descriptor else self.at
        match = _OPERATOR.match(self.text, start)
        if match is None or (descriptor is None and self.text.startswith(("<(", ">("), start)):
            return None
        operator = match.group()
        self.at = match.end()
        self.blank()
        target = self.some_word()
        number = descriptor.group() if descriptor else ""
        if operator not in ("<<", "<<-"):
            return Redirect(operator, target, None, number)
        heredoc = _heredoc(target, operator == "<<-")
        self.pending.append(heredoc)
        return Redirect(operator, target, heredoc, number)

    def read_heredoc(self, heredoc: Heredoc) -> None:
        """The lines up to the delimiter."""
        as_they_are = not heredoc.tabs and (heredoc.quoted or self.at > self.last_continuation)
        heredoc.body = self.whole_body(heredoc) if as_they_are else self.joined_body(heredoc)
        if not heredoc.quoted:
            heredoc.parts = self.fresh(heredoc.body).heredoc_parts()

    @functools.cached_property
    def last_continuation(self) -> int:
        """The position of the last line that goes on in the next one."""
        return self.text.rfind("\\\n")

    def whole_body(self, heredoc: Heredoc) -> str:
        """The text where the lines are taken as they are: tabs stay, and none goes on in the next one."""
        end = re.compile(rf"^{re.escape(heredoc.delimiter)}(?:\n|\Z)", re.MULTILINE).search(self.text, self.at)
        if end is None:
            raise unclosed(heredoc)
        start, self.at = self.at, end.end()
        return self.text[start : end.start()]

    def joined_body(self, heredoc: Heredoc) -> str:
        """The text line by line, without tabs at the beginning, and with lines that go on in the next one."""
        lines: list[str] = []
        joined = False
        while self.at < len(self.text):
            end = self.text.find("\n", self.at)
            line = self.text[self.at :] if end < 0 else self.text[self.at : end]
            self.at = len(self.text) if end < 0 else end + 1
            stripped = line.lstrip("\t") if heredoc.tabs and not joined else line
            if stripped == heredoc.delimiter and not joined:
                return "".join(f"{line}\n" for line in lines)
            lines.append(stripped)
            joined = not heredoc.quoted and (len(line) - len(line.rstrip("\\"))) % 2 == 1
        raise unclosed(heredoc)


def _heredoc(target: Lexeme, tabs: bool) -> Heredoc:
    parts = target.parts or (Part("bare", target.raw),)
    if any(part.kind not in ("bare", "quoted") for part in parts):
        raise UnparsableError("the delimiter of its heredoc is not a plain word")
    quoted = any(part.kind == "quoted" for part in parts)
    return Heredoc("".join(part.text for part in parts), quoted, tabs)
