"""Splits shell code into words: quotes, escapes and expansions, in one pass."""

from __future__ import annotations

import re
from collections.abc import Iterable

from toolgate.command.syntax.tree import Heredoc, Lexeme, Part, Sequence
from toolgate.command.words import ansi_c

MAX_DEPTH = 40
"""How deep code may be nested in code."""
MAX_PIECES = 20_000
"""How many quoted pieces, escapes and expansions are read of one text."""
_BARE = re.compile(r"[^ \t\n\\'\"`$;&|<>()]+")
_IN_DOUBLE = re.compile(r"[^\"\\$`]+")
_IN_HEREDOC = re.compile(r"[^\\$`]+")
_IN_BRACES = re.compile(r"[^}\\'\"`$<>]+")
_IN_ARITHMETIC = {"((": re.compile(r"[^()\\'\"`$]+"), "$[": re.compile(r"[^\[\]\\'\"`$]+")}
_NAME = re.compile(r"[A-Za-z_][A-Za-z0-9_]*|[0-9@*#?$!_-]")
_ASSIGNS = re.compile(r"\$\{!?([A-Za-z_][A-Za-z0-9_]*)(?:\[[^]]*\])?:?=")
_BLANK = re.compile(r"(?:[ \t]|\\\n)+")
_BLANKS = frozenset(" \t\\")
_ESCAPED = re.compile(r"\\([$`\\])")
_ESCAPED_IN_DOUBLE = re.compile(r"\\([$`\\\"])")
_RUNS = re.compile(r"`|\$\(|[<>]\(")
_NO_WORDS: frozenset[str] = frozenset()
_TWO_CHARACTERS = frozenset({"&&", "||", ";;", "|&", ">>", "<<", ";&", "&>", ">&", "<&", "<>", ">|", "<(", ">("})


class UnparsableError(Exception):
    """The code is not bash, or cannot be followed."""


def unclosed(heredoc: Heredoc) -> UnparsableError:
    """The error for a heredoc whose last line is missing."""
    return UnparsableError(f"the heredoc is not closed by a line '{heredoc.delimiter}'")


class WordReader:
    """A cursor over shell code that reads words."""

    def __init__(self, text: str, depth: int = 0) -> None:
        self.text = text
        self.at = 0
        self.depth = depth
        self.pieces = 0
        self.pending: list[Heredoc] = []
        self.in_test = False
        """Inside `[[ … ]]` brackets belong to patterns."""

    def nested(self, ends: frozenset[str]) -> Sequence:
        """The statements up to one of the words `ends`, which is not consumed."""
        raise NotImplementedError

    def fresh(self, text: str) -> WordReader:
        """A reader of the same kind for code inside this code."""
        return type(self)(text, self.depth + 1)

    def program(self) -> Sequence:
        """All of the text."""
        code = self.nested(_NO_WORDS)
        if self.at < len(self.text):
            raise self.unexpected()
        if self.pending:
            raise unclosed(self.pending[0])
        return code

    def deeper(self) -> None:
        """Enter one nesting level. The caller leaves it with `depth -= 1`."""
        self.depth += 1
        if self.depth > MAX_DEPTH:
            raise UnparsableError("it is nested too deeply to follow")

    def blank(self) -> None:
        """Skip blanks and line continuations."""
        if self.text[self.at : self.at + 1] in _BLANKS and (match := _BLANK.match(self.text, self.at)):
            self.at = match.end()

    def word(self) -> Lexeme:
        """The word that begins here; empty where none does."""
        text, start = self.text, self.at
        parts: list[Part] = []
        while self.at < len(text):
            match = _BARE.match(text, self.at)
            if match:
                parts.append(Part("bare", match.group()))
                self.at = match.end()
                continue
            character = text[self.at]
            if character in " \t\n;&|)":
                break
            if character == "(":
                if parts and parts[-1].kind == "bare" and parts[-1].text[-1] in "?*+@!" and not self.in_test:
                    raise UnparsableError("it has an extended pattern")
                break
            if character in "<>":
                if not text.startswith("(", self.at + 1):
                    break
                parts.append(self.substitution())
            else:
                self.piece(character, parts)
        return Lexeme(text[start : self.at], tuple(parts))

    def piece(self, character: str, parts: list[Part]) -> None:
        """A quoted piece or an expansion outside double quotes."""
        self.count_piece()
        if character == "\\":
            if self.at + 1 >= len(self.text):
                raise UnparsableError("it ends with a backslash, as if another line followed")
            following = self.text[self.at + 1]
            self.at += 2
            if following != "\n":
                parts.append(Part("quoted", following))
        elif character == "'":
            parts.append(Part("quoted", self.single()))
        elif character == '"':
            self.at += 1
            self.double(parts)
        elif character == "`":
            parts.append(self.backquoted(_ESCAPED))
        else:
            self.dollar(parts, in_double=False)

    def unexpected(self) -> UnparsableError:
        """The error for what stands at this place."""
        found = self.text[self.at : self.at + 2].rstrip(" \t")
        if not found:
            return UnparsableError("it ends where a word is expected")
        if found[0] == "\n":
            return UnparsableError("a line ends where a word is expected")
        operator = found if found in _TWO_CHARACTERS else found[0]
        return UnparsableError(f"'{operator}' is not expected there")

    def count_piece(self) -> None:
        """One more quoted piece, escape or expansion."""
        self.pieces += 1
        if self.pieces > MAX_PIECES:
            raise UnparsableError(f"it has more than {MAX_PIECES} quoted pieces and expansions")

    def single(self) -> str:
        """The text between single quotes."""
        end = self.text.find("'", self.at + 1)
        if end < 0:
            raise UnparsableError("a single quote is not closed")
        value = self.text[self.at + 1 : end]
        self.at = end + 1
        return value

    def double(self, parts: list[Part]) -> None:
        """What stands between double quotes; the first one is already consumed."""
        parts.append(Part("quoted"))
        while True:
            match = _IN_DOUBLE.match(self.text, self.at)
            if match:
                parts.append(Part("quoted", match.group()))
                self.at = match.end()
            if self.at >= len(self.text):
                raise UnparsableError("a double quote is not closed")
            if self.text[self.at] == '"':
                self.at += 1
                return
            self.interpolated(parts, '$`"\\')

    def interpolated(self, parts: list[Part], escapable: str) -> None:
        """An escape or an expansion inside double quotes or a heredoc."""
        self.count_piece()
        character = self.text[self.at]
        if character == "`":
            parts.append(self.backquoted(_ESCAPED_IN_DOUBLE if '"' in escapable else _ESCAPED))
        elif character == "$":
            self.dollar(parts, in_double=True)
        else:
            following = self.text[self.at + 1 : self.at + 2]
            value = "\\" + following
            if following == "\n":
                value = ""
            elif following and following in escapable:
                value = following
            parts.append(Part("quoted", value))
            self.at += 2

    def dollar(self, parts: list[Part], *, in_double: bool) -> None:
        """What begins with `$`."""
        text, at = self.text, self.at
        following = text[at + 1 : at + 2]
        if text.startswith("\\\n", at + 1):
            raise UnparsableError("a line is continued after a '$'")
        name = _NAME.match(text, at + 1)
        if name:
            self.at = name.end()
            parts.append(Part("variable", name.group()))
        elif text.startswith("((", at + 1):
            self.at += 1
            parts.append(self.arithmetic("(("))
        elif following == "(":
            parts.append(self.substitution())
        elif following == "{":
            parts.append(self.braces(in_double))
        elif following == "[":
            parts.append(self.arithmetic("$["))
        elif following == "'" and not in_double:
            parts.append(self.ansi())
        elif following == '"' and not in_double:
            self.at += 2
            self.double(parts)
        else:
            self.at += 1
            parts.append(Part("quoted", "$"))

    def ansi(self) -> Part:
        """`$'…'`."""
        self.at += 2
        value = ansi_c(self.up_to("'", "a single quote is not closed"))
        return Part("expression") if value is None else Part("quoted", value)

    def up_to(self, mark: str, problem: str) -> str:
        """The text up to `mark`, which is consumed too; a backslash escapes the character after it."""
        start = end = self.at
        while not self.text.startswith(mark, end):
            end += 2 if self.text.startswith("\\", end) else 1
            if end >= len(self.text):
                raise UnparsableError(problem)
        self.at = end + 1
        return self.text[start:end]

    def substitution(self) -> Part:
        """`$(…)`, `<(…)` or `>(…)`."""
        feeds = self.text[self.at] == ">"
        self.at += 2
        return Part("run", code=self.bracketed(), feeds=feeds)

    def bracketed(self) -> Sequence:
        """Statements up to the closing bracket."""
        self.deeper()
        open_before, self.in_test, waiting = self.in_test, False, len(self.pending)
        code = self.nested(frozenset({")"}))
        self.in_test = open_before
        if not self.text.startswith(")", self.at):
            raise UnparsableError("a bracket is not closed")
        if len(self.pending) > waiting:
            raise UnparsableError("a bracket is closed before its heredoc begins")
        self.at += 1
        self.depth -= 1
        return code

    def backquoted(self, escaped: re.Pattern[str]) -> Part:
        """`` `…` ``, whose text has escapes of its own: they are resolved before it is read as code."""
        self.at += 1
        inner = self.up_to("`", "a backquote is not closed")
        self.deeper()
        code = self.fresh(escaped.sub(r"\1", inner)).program()
        self.depth -= 1
        return Part("run", code=code)

    def braces(self, in_double: bool) -> Part:
        """`${…}`."""
        start = self.at
        self.at += 2
        parts: list[Part] = []
        self.deeper()
        while not self.text.startswith("}", self.at):
            match = _IN_BRACES.match(self.text, self.at)
            if match:
                self.at = match.end()
                continue
            if self.at >= len(self.text):
                raise UnparsableError("'${' is not closed")
            self.inside_braces(parts, in_double)
        self.depth -= 1
        self.at += 1
        raw = self.text[start : self.at]
        if _NAME.fullmatch(raw, 2, len(raw) - 1):
            return Part("variable", raw[2:-1])
        if raw[2:3] in " \t\n|":
            parts.append(Part("unclear", "'${ …; }' runs commands"))
        if "@P" in raw:
            parts.append(Part("unclear", "'${…@P}' runs what a variable contains"))
        if match := _ASSIGNS.match(raw):
            parts.append(Part("assign", match.group(1)))
        return Part("expression", parts=tuple(parts))

    def inside_braces(self, parts: list[Part], in_double: bool) -> None:
        """One special character inside `${…}`."""
        character = self.text[self.at]
        if character in "<>":
            if self.text.startswith("(", self.at + 1):
                raise UnparsableError("it has a process substitution inside '${…}'")
            self.at += 1
        elif character == "'" and in_double:
            # whether it quotes there depends on the operator
            raise UnparsableError("it has a single quote inside '\"${…}\"'")
        elif in_double and character in "\\`$":
            self.interpolated(parts, '$`"\\}')
        else:
            self.piece(character, parts)

    def arithmetic(self, opening: str) -> Part:
        """`((…))` or `$[…]`; code in its literals would be run."""
        closing = "))" if opening == "((" else "]"
        self.at += len(opening)
        parts: list[Part] = []
        level = 0
        self.deeper()
        while level or not self.text.startswith(closing, self.at):
            match = _IN_ARITHMETIC[opening].match(self.text, self.at)
            if match:
                self.at = match.end()
                continue
            character = self.text[self.at : self.at + 1]
            if character in (opening[-1], closing[0]):
                level += 1 if character == opening[-1] else -1
                self.at += 1
            elif character:
                self.piece(character, parts)
            if not character or level < 0:
                raise UnparsableError(f"'{opening}' is not closed")
        self.depth -= 1
        self.at += len(closing)
        check_literals(parts)
        return Part("expression", parts=tuple(parts))

    def heredoc_parts(self) -> tuple[Part, ...]:
        """All of the text, as an unquoted heredoc."""
        parts: list[Part] = []
        while self.at < len(self.text):
            match = _IN_HEREDOC.match(self.text, self.at)
            if match:
                parts.append(Part("quoted", match.group()))
                self.at = match.end()
            else:
                self.interpolated(parts, "$`\\")
        return tuple(parts)


def check_literals(parts: Iterable[Part]) -> None:
    """In arithmetic and in tests even quoted text is evaluated: it must not contain code."""
    for part in parts:
        if part.kind in ("quoted", "bare") and _RUNS.search(part.text):
            raise UnparsableError("it evaluates quoted text that contains code")
        check_literals(part.parts)
