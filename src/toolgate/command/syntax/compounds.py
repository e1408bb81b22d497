"""Compound commands: loops, conditions, functions, tests."""

import re

from toolgate.command.syntax.lexing import UnparsableError, check_literals
from toolgate.command.syntax.redirection import RedirectReader
from toolgate.command.syntax.tree import AndOr, Command, Compound, Lexeme, Part, Pipeline, Sequence

RESERVED = re.compile(r"([a-z]+|[{}!]|\[\[)(?=[ \t\n;&|<>()]|\\\n|$)")
"""A word that may be a reserved one."""
_TEST_END = re.compile(r"\]\](?=[ \t\n;&|)<>]|$)")
FUNCTION = re.compile(r"\([ \t]*\)")
_EVALUATING = frozenset(["-v", "-R", "-eq", "-ne", "-lt", "-le", "-gt", "-ge"])
"""Operators of a test that take a word for a number or a name."""
_NAME = re.compile(r"[A-Za-z_][A-Za-z0-9_]*")


class CompoundReader(RedirectReader):
    """Reads commands that contain statements."""

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

    def one_command(self, may_be_empty: bool = False) -> Command:
        """A compound or a simple command."""
        raise NotImplementedError

    def bracket(self) -> Compound:
        """`(…)` or `((…))`."""
        if self.text.startswith("((", self.at):
            compound = Compound("expression", parts=self.arithmetic("((").parts)
        else:
            self.at += 1
            compound = Compound("subshell", (self.bracketed(),))
        return compound._replace(redirects=self.redirects())

    def compound(self, word: str) -> Compound:
        """What follows an opening word."""
        if word == "{":
            return Compound("group", (self.block("}"),))
        if word == "[[":
            return self.test()
        if word == "if":
            return self.conditional()
        if word in ("while", "until"):
            return Compound("branches", (self.block("do"), self.block("done")), loops=True)
        if word == "case":
            return self.case()
        return self.function() if word == "function" else self.loop()

    def conditional(self) -> Compound:
        """`if … then … elif … else … fi`."""
        bodies = [self.block("then")]
        while True:
            bodies.append(self.nested(frozenset({"elif", "else", "fi"})))
            word = self.expect("fi", "else", "elif")
            if word == "fi":
                return Compound("branches", tuple(bodies))
            if word == "elif":
                bodies.append(self.block("then"))

    def block(self, end: str) -> Sequence:
        """The statements up to the word `end`, which is consumed."""
        body = self.nested(frozenset({end}))
        self.expect(end)
        return body

    def loop(self) -> Compound:
        """`for` and `select`."""
        self.blank()
        if self.text.startswith("((", self.at):
            expression = self.arithmetic("((")
            return Compound("branches", (self.loop_body(),), parts=(expression,), loops=True)
        name = _NAME.match(self.text, self.at)
        if name is None:
            raise UnparsableError("the variable of a loop is missing")
        self.at = name.end()
        self.gap()
        words: list[Lexeme] = []
        match = RESERVED.match(self.text, self.at)
        if match and match.group(1) == "in":
            self.at = match.end()
            words = self.words_until_line_end()
        return Compound("branches", (self.loop_body(),), tuple(words), variable=name.group(), loops=True)

    def loop_body(self) -> Sequence:
        """`; do … done`."""
        self.separator()
        self.expect("do")
        return self.block("done")

    def words_until_line_end(self) -> list[Lexeme]:
        """The words of a loop."""
        words: list[Lexeme] = []
        while True:
            self.blank()
            if self.text[self.at : self.at + 1] in ("", "\n", ";", "#"):
                return words
            words.append(self.some_word())

    def case(self) -> Compound:
        """`case word in pattern) … ;; esac`."""
        self.blank()
        words = [self.some_word()]
        self.expect("in")
        bodies: list[Sequence] = []
        while self.gap() and not self.is_end(frozenset({"esac"})):
            if self.text.startswith("(", self.at):
                self.at += 1
            words.append(self.pattern())
            while self.text.startswith("|", self.at):
                self.at += 1
                words.append(self.pattern())
            if not self.text.startswith(")", self.at):
                raise UnparsableError("a pattern of 'case' is not closed")
            self.at += 1
            bodies.append(self.nested(frozenset({"esac", ";;"})))
            ending = re.compile(r";;&|;;|;&").match(self.text, self.at)
            self.at = ending.end() if ending else self.at
        self.expect("esac")
        return Compound("branches", tuple(bodies), tuple(words))

    def pattern(self) -> Lexeme:
        """One pattern of a case, with the blanks around it."""
        self.blank()
        pattern = self.some_word()
        self.blank()
        return pattern

    def function(self) -> Compound:
        """`function name { … }`."""
        self.blank()
        name = self.some_word().raw
        self.blank()
        if brackets := FUNCTION.match(self.text, self.at):
            self.at = brackets.end()
        return self.function_body(name)

    def function_body(self, name: str) -> Compound:
        """The compound command that a definition names."""
        self.gap()
        body = self.one_command()
        if not isinstance(body, Compound):
            raise UnparsableError("a function has no body")
        return Compound("function", (Sequence((AndOr((Pipeline((body,)),)),)),), name=name)

    def test(self) -> Compound:
        """`[[ … ]]`."""
        parts: list[Part] = []
        evaluates = False
        self.in_test = True
        while True:
            self.blank()
            text, at = self.text, self.at
            if _TEST_END.match(text, at):
                self.at += 2
                self.in_test = False
                check_literals(parts)
                return Compound("expression" if evaluates else "group", parts=tuple(parts))
            if at >= len(text):
                raise UnparsableError("'[[' is not closed")
            if text[at] in "()<>|&!\n" and not text.startswith(("<(", ">("), at):
                self.at += 1
            else:
                word = self.some_word()
                evaluates = evaluates or word.raw in _EVALUATING or "\\" in word.raw
                parts.extend(word.parts or ())

    def expect(self, *words: str) -> str:
        """Consume one of these reserved words, which must be next."""
        self.gap()
        match = RESERVED.match(self.text, self.at)
        if match is None or match.group(1) not in words:
            raise UnparsableError(f"'{words[0]}' is missing")
        self.at = match.end()
        return match.group(1)

    def is_end(self, ends: frozenset[str]) -> bool:
        """Whether one of the words `ends` stands here."""
        character = self.text[self.at]
        if character == ")":
            return ")" in ends
        if character == ";":
            return ";;" in ends and self.text.startswith((";;", ";&"), self.at)
        match = RESERVED.match(self.text, self.at)
        return match is not None and match.group(1) in ends
