"""Statements out of shell code. Strict: what is not surely understood is an error, and so is asked about."""

from __future__ import annotations

import re

from toolgate.shell.syntax.lexing import UnparsableError, WordReader, check_literals
from toolgate.shell.syntax.tree import (
    AndOr,
    Assign,
    Command,
    Compound,
    Heredoc,
    Lexeme,
    Part,
    Pipeline,
    Redirect,
    Sequence,
    Simple,
)

_PLAIN = re.compile(r"([A-Za-z0-9_@%+:,./^-]+)(?=[ \t\n;&|)]|$)")
_RESERVED = re.compile(r"([a-z]+|[{}!]|\[\[)(?=[ \t\n;&|<>()]|\\\n|$)")
_OPENERS = frozenset({"if", "while", "until", "for", "select", "case", "function"})
_CLOSERS = frozenset({"then", "elif", "else", "fi", "do", "done", "esac", "}", "in"})
_OPERATOR = re.compile(r"<<<|<<-|<<|<&|<>|<|>>|>&|>\||>|&>>|&>")
_DESCRIPTOR = re.compile(r"(?:[0-9]+|\{[A-Za-z_][A-Za-z0-9_]*\})(?=[<>])")
_ASSIGNMENT = re.compile(r"([A-Za-z_][A-Za-z0-9_]*)(\[[A-Za-z0-9_@*+$-]*\])?(\+?=)")
_SUBSCRIPT = re.compile(r"[A-Za-z_][A-Za-z0-9_]*\[")
_TEST_END = re.compile(r"\]\](?=[ \t\n;&|)<>]|$)")
_ENDS_SIMPLE = frozenset({"", "\n", ";", "|", ")", "#"})
_FUNCTION = re.compile(r"\([ \t]*\)")
_NAME = re.compile(r"[A-Za-z_][A-Za-z0-9_]*")
_DECLARES = frozenset({"export", "declare", "typeset", "local", "readonly"})
_NO_WORDS: frozenset[str] = frozenset()


class Grammar(WordReader):
    """Reads statements."""

    def program(self) -> Sequence:
        """All of the text."""
        code = self.nested(_NO_WORDS)
        if self.at < len(self.text):
            raise UnparsableError(f"{self.text[self.at : self.at + 2]!r} is not expected there")
        if self.pending:
            raise UnparsableError(f"the heredoc is not closed by a line '{self.pending[0].delimiter}'")
        return code

    def nested(self, ends: frozenset[str]) -> Sequence:
        """The statements up to one of the words `ends`, which is not consumed."""
        statements: list[AndOr] = []
        separated = True
        while self.gap() and not self.is_end(ends):
            if not separated:
                raise UnparsableError(f"{self.text[self.at : self.at + 2]!r} is not expected there")
            statements.append(self.and_or())
            separated = self.separator()
        return Sequence(tuple(statements))

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

    def separator(self) -> bool:
        """Consume what ends a statement; False if nothing does."""
        self.blank()
        text, at = self.text, self.at
        character = text[at : at + 1]
        if (character == ";" and not text.startswith((";;", ";&"), at)) or (
            character == "&" and text[at + 1 : at + 2] != "&"
        ):
            self.at += 1
            return True
        return character in ("\n", "#", "")

    def is_end(self, ends: frozenset[str]) -> bool:
        """Whether one of the words `ends` stands here."""
        character = self.text[self.at]
        if character == ")":
            return ")" in ends
        if character == ";":
            return ";;" in ends and self.text.startswith((";;", ";&"), self.at)
        match = _RESERVED.match(self.text, self.at)
        return match is not None and match.group(1) in ends

    def expect(self, *words: str) -> str:
        """Consume one of these reserved words, which must be next."""
        self.gap()
        match = _RESERVED.match(self.text, self.at)
        if match is None or match.group(1) not in words:
            raise UnparsableError(f"'{words[0]}' is missing")
        self.at = match.end()
        return match.group(1)

    def and_or(self) -> AndOr:
        """Pipelines with `&&` and `||` between them."""
        pipelines = [self.pipeline()]
        operators: list[str] = []
        while True:
            self.blank()
            operator = self.text[self.at : self.at + 2]
            if operator not in ("&&", "||"):
                return AndOr(tuple(pipelines), tuple(operators))
            self.at += 2
            self.gap()
            operators.append(operator)
            pipelines.append(self.pipeline())

    def pipeline(self) -> Pipeline:
        """Commands with pipes between them."""
        timed = self.prefixes()
        commands = [self.one_command(may_be_empty=timed)]
        while True:
            self.blank()
            text, at = self.text, self.at
            if not text.startswith("|", at) or text.startswith("||", at):
                return Pipeline(tuple(commands), timed)
            self.at += 2 if text.startswith("|&", at) else 1
            self.gap()
            commands.append(self.one_command())

    def prefixes(self) -> bool:
        """Skip `!` and `time`; whether there was a `time`."""
        timed = False
        while match := _RESERVED.match(self.text, self.at):
            if match.group(1) not in ("!", "time"):
                break
            self.at = match.end()
            self.blank()
            if match.group(1) == "time":
                timed = True
                while option := re.compile(r"(?:-p|--)(?=[ \t\n;&|]|$)").match(self.text, self.at):
                    self.at = option.end()
                    self.blank()
        return timed

    def one_command(self, may_be_empty: bool = False) -> Command:
        """A compound or a simple command."""
        text, at = self.text, self.at
        match = _RESERVED.match(text, at)
        word = match.group(1) if match else ""
        if text.startswith("(", at):
            return self.bracket()
        if word in _OPENERS or word in ("{", "[["):
            self.deeper()
            self.at += len(word)
            compound = self.compound(word)
            self.depth -= 1
            return compound._replace(redirects=self.redirects())
        if word in _CLOSERS:
            raise UnparsableError(f"'{word}' is not expected there")
        simple = self.simple()
        if isinstance(simple, Simple) and not (simple.words or simple.assigns or simple.redirects or may_be_empty):
            raise UnparsableError("a command is missing")
        return simple

    def bracket(self) -> Compound:
        """`(…)` or `((…))`."""
        if self.text.startswith("((", self.at):
            self.at += 2
            compound = Compound("expression", parts=self.arithmetic_body())
        else:
            self.at += 1
            compound = Compound("subshell", (self.bracketed(),))
        return compound._replace(redirects=self.redirects())

    def compound(self, word: str) -> Compound:
        """What follows an opening word."""
        if word == "{":
            body = self.nested(frozenset({"}"}))
            self.expect("}")
            return Compound("group", (body,))
        if word == "[[":
            return self.test()
        if word == "if":
            return self.conditional()
        if word in ("while", "until"):
            condition = self.nested(frozenset({"do"}))
            return Compound("branches", (condition, self.do_group()))
        if word == "case":
            return self.case()
        return self.function() if word == "function" else self.loop()

    def conditional(self) -> Compound:
        """`if … then … elif … else … fi`."""
        bodies = [self.nested(frozenset({"then"}))]
        self.expect("then")
        while True:
            bodies.append(self.nested(frozenset({"elif", "else", "fi"})))
            word = self.expect("fi", "else", "elif")
            if word == "fi":
                return Compound("branches", tuple(bodies))
            if word == "elif":
                bodies.append(self.nested(frozenset({"then"})))
                self.expect("then")

    def do_group(self) -> Sequence:
        """`do … done`."""
        self.expect("do")
        body = self.nested(frozenset({"done"}))
        self.expect("done")
        return body

    def loop(self) -> Compound:
        """`for` and `select`."""
        self.blank()
        if self.text.startswith("((", self.at):
            self.at += 2
            parts = self.arithmetic_body()
            self.separator()
            return Compound("branches", (self.do_group(),), parts=parts)
        name = _NAME.match(self.text, self.at)
        if name is None:
            raise UnparsableError("the variable of a loop is missing")
        self.at = name.end()
        self.gap()
        words: list[Lexeme] = []
        match = _RESERVED.match(self.text, self.at)
        if match and match.group(1) == "in":
            self.at = match.end()
            words = self.words_until_line_end()
        self.separator()
        return Compound("branches", (self.do_group(),), tuple(words), variable=name.group())

    def words_until_line_end(self) -> list[Lexeme]:
        """The words of a loop."""
        words: list[Lexeme] = []
        while True:
            self.blank()
            if self.text[self.at : self.at + 1] in ("", "\n", ";", "#"):
                return words
            words.append(self.some_word())

    def some_word(self) -> Lexeme:
        """A word that must be there."""
        lexeme = self.word()
        if not lexeme.raw:
            raise UnparsableError(f"{self.text[self.at : self.at + 2]!r} is not expected there")
        return lexeme

    def case(self) -> Compound:
        """`case word in pattern) … ;; esac`."""
        self.blank()
        words = [self.some_word()]
        self.expect("in")
        bodies: list[Sequence] = []
        while self.gap() and not self.is_end(frozenset({"esac"})):
            if self.text.startswith("(", self.at):
                self.at += 1
                self.blank()
            words.append(self.some_word())
            self.blank()
            while self.text.startswith("|", self.at):
                self.at += 1
                self.blank()
                words.append(self.some_word())
                self.blank()
            if not self.text.startswith(")", self.at):
                raise UnparsableError("a pattern of 'case' is not closed")
            self.at += 1
            bodies.append(self.nested(frozenset({"esac", ";;"})))
            ending = re.compile(r";;&|;;|;&").match(self.text, self.at)
            self.at = ending.end() if ending else self.at
        self.expect("esac")
        return Compound("branches", tuple(bodies), tuple(words))

    def function(self) -> Compound:
        """`function name { … }`."""
        self.blank()
        self.some_word()
        self.blank()
        if brackets := _FUNCTION.match(self.text, self.at):
            self.at = brackets.end()
        return self.function_body()

    def function_body(self) -> Compound:
        """The compound command that a definition names."""
        self.gap()
        body = self.one_command()
        if not isinstance(body, Compound):
            raise UnparsableError("a function has no body")
        return Compound("function", (Sequence((AndOr((Pipeline((body,)),)),)),))

    def test(self) -> Compound:
        """`[[ … ]]`."""
        parts: list[Part] = []
        self.in_test = True
        while True:
            self.blank()
            text, at = self.text, self.at
            if text.startswith("]]", at) and text[at + 2 : at + 3] in (
                "",
                " ",
                "\t",
                "\n",
                ";",
                "&",
                "|",
                ")",
                "<",
                ">",
            ):
                self.at += 2
                self.in_test = False
                check_literals(parts)
                return Compound("expression", parts=tuple(parts))
            if at >= len(text):
                raise UnparsableError("'[[' is not closed")
            if text[at] in "()<>|&!\n" and not text.startswith(("<(", ">("), at):
                self.at += 1
            else:
                parts.extend(self.some_word().parts or ())

    def simple(self) -> Simple | Compound:
        """Assignments, words and redirections."""
        command = Simple()
        while True:
            self.blank()
            match = _PLAIN.match(self.text, self.at)
            if match:
                command.words.append(Lexeme(match.group(1)))
                self.at = match.end()
                continue
            character = self.text[self.at : self.at + 1]
            if character in ("", "\n", ";", "|", ")", "#") or (
                character == "&" and self.text[self.at + 1 : self.at + 2] != ">"
            ):
                return command
            if redirect := self.redirect():
                command.redirects.append(redirect)
            elif character == "(":
                return self.definition(command)
            else:
                self.simple_word(command)

    def simple_word(self, command: Simple) -> None:
        """One word, which may be an assignment."""
        start = self.at
        match = _ASSIGNMENT.match(self.text, start)
        declares = bool(command.words) and command.words[0].raw in _DECLARES
        if match is None and not command.words and _SUBSCRIPT.match(self.text, start):
            raise UnparsableError("it has a subscript that cannot be followed")
        if match is None or (command.words and not declares):
            lexeme = self.some_word()
            if "\\\n" in lexeme.raw and _ASSIGNMENT.match(lexeme.raw.replace("\\\n", "")) and not command.words:
                raise UnparsableError("a line is continued inside the name of a variable")
            command.words.append(lexeme)
            return
        assign = self.assignment(match)
        if declares:
            command.declared[len(command.words)] = assign
            command.words.append(Lexeme(self.text[start : self.at], ()))
        else:
            command.assigns.append(assign)

    def assignment(self, match: re.Match[str]) -> Assign:
        """`name=value`; the name is matched, the value is not read yet."""
        name, subscript, operator = match.groups()
        start = self.at
        if subscript:
            lexeme = self.some_word()
            check_literals(lexeme.parts or ())
            return Assign(name, (lexeme,), False, lexeme.raw)
        self.at = match.end()
        if self.text.startswith("(", self.at):
            self.at += 1
            values = self.array()
        else:
            values = (self.word(),)
        return Assign(name, values, operator == "=" and len(values) == 1, self.text[start : self.at])

    def array(self) -> tuple[Lexeme, ...]:
        """The elements of an array."""
        words: list[Lexeme] = []
        while self.gap():
            if self.text.startswith(")", self.at):
                self.at += 1
                return (*words, Lexeme(""))
            words.append(self.some_word())
        raise UnparsableError("an array is not closed")

    def definition(self, command: Simple) -> Compound:
        """`name () { … }`."""
        brackets = _FUNCTION.match(self.text, self.at)
        if brackets is None or len(command.words) != 1 or command.assigns or command.redirects:
            raise UnparsableError("'(' is not expected there")
        self.at = brackets.end()
        self.deeper()
        body = self.function_body()
        self.depth -= 1
        return body

    def redirects(self) -> tuple[Redirect, ...]:
        """The redirections behind a compound command."""
        found: list[Redirect] = []
        while True:
            self.blank()
            redirect = self.redirect()
            if redirect is None:
                return tuple(found)
            found.append(redirect)

    def redirect(self) -> Redirect | None:
        """One redirection, if one begins here."""
        descriptor = _DESCRIPTOR.match(self.text, self.at)
        start = descriptor.end() if descriptor else self.at
        match = _OPERATOR.match(self.text, start)
        if match is None or (descriptor is None and self.text.startswith(("<(", ">("), start)):
            return None
        operator = match.group()
        self.at = match.end()
        self.blank()
        target = self.some_word()
        if operator not in ("<<", "<<-"):
            return Redirect(operator, target)
        heredoc = _heredoc(target, operator == "<<-")
        self.pending.append(heredoc)
        return Redirect(operator, target, heredoc)

    def read_heredoc(self, heredoc: Heredoc) -> None:
        """The lines up to the delimiter."""
        lines: list[str] = []
        joined = False
        while self.at < len(self.text):
            end = self.text.find("\n", self.at)
            line = self.text[self.at :] if end < 0 else self.text[self.at : end]
            self.at = len(self.text) if end < 0 else end + 1
            stripped = line.lstrip("\t") if heredoc.tabs and not joined else line
            if stripped == heredoc.delimiter and not joined:
                heredoc.body = "".join(f"{line}\n" for line in lines)
                if not heredoc.quoted:
                    heredoc.parts = self.fresh(heredoc.body).heredoc_parts()
                return
            lines.append(stripped)
            joined = not heredoc.quoted and (len(line) - len(line.rstrip("\\"))) % 2 == 1
        raise UnparsableError(f"the heredoc is not closed by a line '{heredoc.delimiter}'")


def _heredoc(target: Lexeme, tabs: bool) -> Heredoc:
    parts = target.parts or (Part("bare", target.raw),)
    if any(part.kind not in ("bare", "quoted") for part in parts):
        raise UnparsableError("the delimiter of its heredoc is no plain word")
    quoted = any(part.kind == "quoted" for part in parts)
    return Heredoc("".join(part.text for part in parts), quoted, tabs)
