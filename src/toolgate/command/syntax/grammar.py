"""Parses shell code into statements. It is strict: code that it does not fully understand is an error."""

import re

from toolgate.command.syntax.compounds import FUNCTION, RESERVED, CompoundReader
from toolgate.command.syntax.lexing import UnparsableError, check_literals
from toolgate.command.syntax.tree import AndOr, Assign, Command, Compound, Lexeme, Pipeline, Sequence, Simple

MAX_COMMANDS = 10_000
"""How many commands are read of one text."""
_PLAIN = re.compile(r"[A-Za-z0-9_@%+:,./^-]+(?:[ \t]+[A-Za-z0-9_@%+:,./^-]+)*(?=[ \t\n;&|)]|$)")
"""A run of words without any special character."""
_OPENERS = frozenset({"if", "while", "until", "for", "select", "case", "function"})
_CLOSERS = frozenset({"then", "elif", "else", "fi", "do", "done", "esac", "}", "in"})
_ENDS_SIMPLE = frozenset({"", "\n", ";", "|", ")", "#"})
_ASSIGNMENT = re.compile(r"([A-Za-z_][A-Za-z0-9_]*)(\[[A-Za-z0-9_@*+$-]*\])?(\+?=)")
_SUBSCRIPT = re.compile(r"[A-Za-z_][A-Za-z0-9_]*\[")
_DECLARES = frozenset({"export", "declare", "typeset", "local", "readonly"})
_BEHIND_ARRAY = frozenset(["", " ", "\t", "\n", ";", "&", "|", ")", "<", ">"])


class Grammar(CompoundReader):
    """Reads statements."""

    commands = 0
    most_words: int | None = None
    """How many words a simple command may have; None: any number."""

    def nested(self, ends: frozenset[str]) -> Sequence:
        """The statements up to one of the words `ends`, which is not consumed."""
        statements: list[AndOr] = []
        separated = True
        while self.gap() and not self.is_end(ends):
            if not separated:
                raise self.unexpected()
            statements.append(self.and_or())
            separated = self.separator()
        return Sequence(tuple(statements))

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
        while match := RESERVED.match(self.text, self.at):
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
        self.commands += 1
        if self.commands > MAX_COMMANDS:
            raise UnparsableError(f"it has more than {MAX_COMMANDS} commands")
        text, at = self.text, self.at
        match = RESERVED.match(text, at)
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

    def simple(self) -> Simple | Compound:
        """Assignments, words and redirections."""
        command = Simple()
        while True:
            self.blank()
            if self.most_words is not None and len(command.words) > self.most_words:
                raise UnparsableError(f"it has more than {self.most_words} words")
            match = _PLAIN.match(self.text, self.at)
            if match:
                command.words.extend(map(Lexeme, match.group().split()))
                self.at = match.end()
                continue
            character = self.text[self.at : self.at + 1]
            if character in _ENDS_SIMPLE or (character == "&" and self.text[self.at + 1 : self.at + 2] != ">"):
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
                if self.text[self.at : self.at + 1] not in _BEHIND_ARRAY:
                    raise UnparsableError("something follows an array without a blank")
                return (*words, Lexeme(""))
            words.append(self.some_word())
        raise UnparsableError("an array is not closed")

    def definition(self, command: Simple) -> Compound:
        """`name () { … }`."""
        brackets = FUNCTION.match(self.text, self.at)
        if brackets is None or len(command.words) != 1 or command.assigns or command.redirects:
            raise UnparsableError("'(' is not expected there")
        self.at = brackets.end()
        self.deeper()
        body = self.function_body(command.words[0].raw)
        self.depth -= 1
        return body
