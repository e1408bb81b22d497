"""The walk over the syntax tree: every simple command, wherever it stands."""

from __future__ import annotations

import re
from collections.abc import Callable
from typing import TYPE_CHECKING

from toolgate.shell.analysis.reading import WORDS
from toolgate.shell.analysis.redirects import RedirectReader
from toolgate.shell.analysis.scope import Scope, Stdin
from toolgate.shell.analysis.setting import AssignmentReader
from toolgate.shell.analysis.syntax import encode, parse
from toolgate.shell.words import UNRESOLVED, Word

if TYPE_CHECKING:
    from tree_sitter import Node

_PIPE = Stdin("pipe")
_PLAIN = re.compile(rb"(?![\w+]*=)[\w@%+=:,./^-]+(?: +[\w@%+=:,./^-]+)*", re.ASCII)


def walk(scope: Scope, text: str) -> None:
    """Find everything that `text` runs."""
    source, problem = encode(text)
    if problem:
        scope.found.unclear(problem)
    root = parse(source)
    walker = Walker(source, scope)
    if root.has_error:
        scope.found.unclear("it cannot be parsed as bash")
    if (source[: root.start_byte] + source[root.end_byte :]).strip(b" \t\n"):
        walker.misread()
    walker.sequence(root)


class Walker(RedirectReader, AssignmentReader):
    """Walks one piece of source."""

    def sequence(self, node: Node) -> None:
        """Statements one after the other, with the keywords and separators between them."""
        previous: Node | None = None
        for child in self.children(node, lines=True):
            if not child.is_named:
                previous = None
                continue
            if child.type == "comment":
                self.comment(child)
                previous = None
                continue
            if previous is not None and b"\n" not in self.source[previous.end_byte : child.start_byte]:
                self.misread()
            previous = child
            self.statement(child)
            self.scope.settle()

    def statement(self, node: Node) -> None:
        """One statement of any kind."""
        handler = _STATEMENTS.get(node.type)
        if not self.scope.descend():
            return
        if handler is not None:
            handler(self, node)
        elif node.type in WORDS or node.type == "ERROR":
            self.broken(node)
        elif node.type == "comment":
            self.comment(node)
        else:
            self.misread()
            self.inner(node)
        self.scope.depth -= 1

    def comment(self, node: Node) -> None:
        """A comment; to the shell a `#` inside a word begins none, also where the word goes on in the next line."""
        before = self.source[max(0, node.start_byte - 2) : node.start_byte]
        if before[-1:].strip(b" \t\n;&|()") or before == b"\\\n":
            self.misread()

    def broken(self, node: Node) -> None:
        """What the parser could not place: whatever commands are in it count."""
        self.misread()
        for child in node.children:
            if child.is_named:
                self.statement(child)

    def listed(self, node: Node) -> None:
        """`a && b || c`."""
        self.in_turn(self.flattened(node))

    def flattened(self, node: Node) -> list[Node]:
        """The statements and operators of a list, however long, without recursion."""
        parts: list[Node] = []
        while node.type == "list":
            children = self.children(node, lines=True)
            parts.extend(reversed(children[1:]))
            node = children[0]
        return [node, *reversed(parts)]

    def in_turn(self, parts: list[Node]) -> None:
        """Look at the parts of a list; what follows `||` also runs where a `cd` failed."""
        for part in parts:
            if part.is_named:
                self.statement(part)
            elif part.type == "||":
                self.scope.settle()

    def branches(self, node: Node) -> None:
        """A statement whose parts may or may not run."""
        before = self.scope.cwds
        self.sequence(node)
        self.scope.cwds = tuple(dict.fromkeys((*before, *self.scope.cwds)))

    def piped(self, node: Node) -> None:
        """A pipeline: every part is a shell of its own, and all but the first read from the one before."""
        first = True
        for child in self.children(node, lines=True):
            if child.is_named:
                outside = self.scope.save()
                if not first:
                    self.scope.stdin = _PIPE
                self.statement(child)
                self.scope.restore(outside)
                first = False
            elif child.type in ("|", "|&"):
                first = False

    def inside(self, node: Node) -> None:
        """A subshell."""
        outside = self.scope.save()
        self.sequence(node)
        self.scope.restore(outside)

    def substitution(self, node: Node) -> None:
        """A command or process substitution; text in backquotes has escapes of its own."""
        raw = self.text(node)
        if raw.startswith("`") and "\\" in raw:
            self.found.unclear("it has escapes inside backquotes")
        if not self.scope.descend():
            return
        outside = self.scope.save()
        if raw.startswith(">("):
            self.scope.stdin = _PIPE
        self.substituted(node)
        self.scope.restore(outside)
        self.scope.depth -= 1

    def substituted(self, node: Node) -> None:
        """The statements between the brackets; `$(< file)` only reads."""
        for child in self.children(node, lines=True):
            if child.type == "file_redirect":
                self.redirect(child)
            elif child.is_named:
                self.statement(child)
                self.scope.settle()

    def command(self, node: Node, extra: tuple[Word, ...] = ()) -> None:
        """One simple command."""
        raw = self.source[node.start_byte : node.end_byte]
        if _PLAIN.fullmatch(raw):
            # nothing in it is quoted, expanded or an operator: its words are what stands between the blanks
            words, stdin = [Word(text, True, False, text) for text in raw.decode().split(" ") if text], None
        else:
            words, stdin, sets = self.parts(node)
            for name, value in sets:
                self.assigned(name, value, words=words)
        words.extend(extra)
        if not words:
            return
        before = self.scope.stdin
        self.scope.stdin = stdin or before
        self.scope.run(words)
        self.scope.stdin = before

    def parts(self, node: Node) -> tuple[list[Word], Stdin | None, list[tuple[str, Word]]]:
        """A command's words, its input, and the variables that are set for it."""
        words: list[Word] = []
        sets: list[tuple[str, Word]] = []
        stdin: Stdin | None = None
        end = -1
        for child in self.children(node):
            kind = child.type
            if kind == "command_name":
                if child.start_byte == end:
                    self.misread()
                words.append(self.word(child.children[0]))
            elif kind in WORDS or kind in ("==", "=~", "=", "$"):
                if child.start_byte == end:
                    self.misread()
                words.append(self.word(child))
            elif kind == "variable_assignment":
                sets.append(self.assignment(child))
            elif kind in ("file_redirect", "herestring_redirect"):
                stdin = self.redirect(child, words) or stdin
            elif kind == "comment":
                self.comment(child)
            elif kind in ("subshell", "compound_statement") and words and words[0].text == "time":
                self.statement(child)
            else:
                self.misread()
                self.inner(child)
            end = child.end_byte if kind not in ("file_redirect", "herestring_redirect") else -1
        return words, stdin, sets

    def declaration(self, node: Node) -> None:
        """`export`, `declare`, `local`, `readonly`, `typeset`, `unset`: commands whose words set variables."""
        words: list[Word] = []
        for child in self.children(node):
            if child.type == "variable_assignment":
                name, value = self.assignment(child)
                self.assigned(name, value, words=words)
                words.append(Word(f"{name}={value.text}", value.known, True, self.text(child)))
            elif child.type in WORDS or not words:
                words.append(self.word(child) if child.is_named else Word(self.text(child), raw=self.text(child)))
            else:
                self.misread()
                self.inner(child)
        self.scope.run(words)

    def function(self, node: Node) -> None:
        """A definition counts as what it would run."""
        outside = self.scope.save()
        for child in self.children(node, lines=True)[1:]:
            if child.type == "file_redirect":
                self.redirect(child)
            elif child.is_named and child.type not in ("word", "comment"):
                self.statement(child)
        self.scope.restore(outside)

    def loop(self, node: Node) -> None:
        """`for` and `select` set a variable to words."""
        before = self.scope.cwds
        for child in self.children(node, lines=True):
            if child.type == "variable_name":
                self.assigned(self.text(child), Word(UNRESOLVED, False))
            elif child.type in WORDS:
                self.word(child)
            elif child.type in ("do_group", "compound_statement"):
                self.sequence(child)
            elif child.is_named and child.type != "comment":
                self.inner(child)
        self.scope.cwds = tuple(dict.fromkeys((*before, *self.scope.cwds)))

    def case(self, node: Node) -> None:
        """`case`: the patterns are words, the rest are statements."""
        for child in self.children(node, lines=True):
            if child.type == "case_item":
                self.case(child)
            elif child.type in WORDS:
                self.inner(child) if child.type in ("extglob_pattern", "regex") else self.word(child)
            elif child.is_named and child.type != "comment":
                self.statement(child)
                self.scope.settle()

    def expression(self, node: Node) -> None:
        """`[[ … ]]`, `[ … ]`, `((…))`: no command of its own, but substitutions and redirections in it run."""
        self.inner(node)

    def braces(self, node: Node) -> None:
        """`{ …; }`, which the grammar also uses for `((…))`."""
        if node.children and node.children[0].type == "((":
            self.inner(node)
        else:
            self.sequence(node)


_STATEMENTS: dict[str, Callable[[Walker, Node], None]] = {
    "command": Walker.command,
    "list": Walker.listed,
    "pipeline": Walker.piped,
    "redirected_statement": Walker.redirected,
    "negated_command": Walker.sequence,
    "subshell": Walker.inside,
    "compound_statement": Walker.braces,
    "do_group": Walker.sequence,
    "if_statement": Walker.branches,
    "elif_clause": Walker.branches,
    "else_clause": Walker.branches,
    "while_statement": Walker.branches,
    "for_statement": Walker.loop,
    "c_style_for_statement": Walker.loop,
    "case_statement": Walker.case,
    "function_definition": Walker.function,
    "declaration_command": Walker.declaration,
    "unset_command": Walker.declaration,
    "variable_assignment": Walker.assignments,
    "variable_assignments": Walker.assignments,
    "test_command": Walker.expression,
    "command_substitution": Walker.substitution,
}
