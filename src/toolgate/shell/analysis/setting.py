"""Assignments out of the syntax tree."""

from __future__ import annotations

from typing import TYPE_CHECKING

from toolgate.shell.analysis.reading import WORDS, WordReader
from toolgate.shell.analysis.variables import assign
from toolgate.shell.words import UNRESOLVED, Word

if TYPE_CHECKING:
    from tree_sitter import Node


class AssignmentReader(WordReader):
    """Reads what variables are set to."""

    def assignment(self, node: Node) -> tuple[str, Word]:
        """The name and the value of an assignment."""
        name, value = UNRESOLVED, Word("", raw=self.text(node))
        end = node.start_byte
        for child in node.children:
            if child.start_byte != end:
                # to the shell a blank ends the value, and what follows is a command
                self.misread()
            end = child.end_byte
            if child.type == "variable_name":
                name = self.text(child)
            elif child.type == "subscript":
                name = self.text(child).split("[", 1)[0]
                self.inner(child)
            elif child.type == "array":
                value = Word(" ".join(self.word(c).text for c in child.children if c.type in WORDS), False)
                self.nested_arrays(child)
            elif child.type in WORDS:
                value = self.word(child)
            elif child.type not in ("=", "+="):
                self.misread()
        if any(child.type == "+=" for child in node.children):
            value = value._replace(text=UNRESOLVED + value.text, known=False)
        return name, value

    def nested_arrays(self, node: Node) -> None:
        """Elements of an array that are no plain words."""
        for child in node.children:
            if child.is_named and child.type not in WORDS:
                self.inner(child)

    def assignments(self, node: Node) -> None:
        """Assignments that stand alone."""
        nodes = [node] if node.type == "variable_assignment" else self.children(node)
        for child in nodes:
            if child.type == "variable_assignment":
                name, value = self.assignment(child)
                self.assigned(name, value, words=None)
            else:
                self.misread()

    def assigned(self, name: str, value: Word, words: list[Word] | None = None) -> None:
        """Note a variable that is set, for the command `words` or (None) for the shell."""
        assign(self.scope, name, value, words)
