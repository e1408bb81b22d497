"""Redirections and heredocs."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING

from toolgate.shell.analysis.reading import SUBSTITUTIONS, WORDS, WordReader
from toolgate.shell.analysis.scope import Stdin
from toolgate.shell.line import read_line
from toolgate.shell.words import Word, heredoc_value

if TYPE_CHECKING:
    from tree_sitter import Node

_RUNS = re.compile(r"(?<!\\)(?:\\\\)*(`|\$\()")
_WRITES_NOTHING = frozenset({b"2>&1", b">&2", b"1>&2", b"2>/dev/null", b">/dev/null", b"&>/dev/null"})
_STATEMENTS = frozenset({"command", "list", "pipeline", "redirected_statement", "subshell", "compound_statement"})


class RedirectReader(WordReader):
    """Reads what a statement's input and output are connected to."""

    def statement(self, node: Node) -> None:
        """Look at one statement."""
        raise NotImplementedError

    def piped(self, node: Node) -> None:
        """Look at a pipeline."""
        raise NotImplementedError

    def flattened(self, node: Node) -> list[Node]:
        """The parts of a list, or the node itself."""
        raise NotImplementedError

    def in_turn(self, parts: list[Node]) -> None:
        """Look at the parts of a list."""
        raise NotImplementedError

    def command(self, node: Node, extra: tuple[Word, ...] = ()) -> None:
        """Look at one simple command with further words."""
        raise NotImplementedError

    def redirected(self, node: Node) -> None:
        """A statement with redirections; words behind a redirection belong to the command before it."""
        body: Node | None = None
        stdin: Stdin | None = None
        extra: list[Word] = []
        rest: list[Node] = []
        for child in self.children(node, dashes=extra):
            if child.type == "heredoc_redirect":
                stdin = self.heredoc(child, extra, rest) or stdin
            elif child.type in ("file_redirect", "herestring_redirect"):
                stdin = self.redirect(child, extra) or stdin
            elif body is None and child.is_named:
                # the grammar redirects a whole list, the shell only the last command of it
                *first, body = self.flattened(child)
                self.in_turn(first)
            else:
                self.misread()
        before = self.scope.stdin
        self.scope.stdin = stdin or before
        if body is not None and body.type == "command":
            self.command(body, tuple(extra))
        elif extra:
            self.misread()
        elif body is not None:
            self.statement(body)
        self.scope.stdin = before
        self.continued(rest)

    def continued(self, rest: list[Node]) -> None:
        """What the grammar puts inside a heredoc: the pipeline or list that goes on behind its operator."""
        for child in rest:
            if child.type == "pipeline":
                self.piped(child)
            elif child.is_named:
                self.statement(child)

    def redirect(self, node: Node, extra: list[Word] | None = None) -> Stdin | None:
        """One redirection: the file that it writes is noted, what it reads is returned."""
        if self.source[node.start_byte : node.end_byte] in _WRITES_NOTHING:
            return None
        operator, target = "", None
        for child in self.children(node):
            if child.type in WORDS:
                word = self.word(child)
                if target is None:
                    target = word
                elif extra is not None:
                    extra.append(word)
                else:
                    self.misread()
            elif not child.is_named:
                operator = operator or child.type
            elif child.type != "file_descriptor":
                self.misread()
        return self.opened(operator, target, node)

    def opened(self, operator: str, target: Word | None, node: Node) -> Stdin | None:
        """What an operator does with its target."""
        if target is None:
            if operator not in ("<&-", ">&-"):
                self.misread()
            return None
        if operator == "<<<":
            return Stdin("text", target)
        if any(child.type == "process_substitution" for child in node.children):
            return Stdin("pipe") if operator == "<" else None
        if operator in (">&", "<&") and (target.text.rstrip("-").isdigit() or target.text == "-"):
            return None
        if operator == "<":
            self.scope.path(target.text)
            return Stdin("file", target)
        if operator in (">", ">|", "&>", ">&", ">>", "&>>", "<>"):
            self.scope.write(target, append=operator in (">>", "&>>", "<>"))
            return None
        self.misread()
        return None

    def heredoc(self, node: Node, extra: list[Word], rest: list[Node]) -> Stdin | None:
        """A heredoc: its end is checked against the shell's own rule, and what its text runs is looked at."""
        start = body = end = None
        tabs, last = False, node.start_byte
        for child in node.children:
            if child.type not in ("heredoc_body", "heredoc_end"):
                last = child.end_byte
            if child.type in ("<<", "<<-"):
                tabs = child.type == "<<-"
            elif child.type == "heredoc_start":
                start = child
            elif child.type == "heredoc_body":
                body = child
            elif child.type == "heredoc_end":
                end = child
            elif child.type in ("file_redirect", "herestring_redirect"):
                self.redirect(child, extra)
            elif child.type in WORDS:
                extra.append(self.word(child))
            elif child.type in _STATEMENTS or child.type in ("&&", "||", "&", ";", "|"):
                rest.append(child)
            else:
                self.misread()
        if start is None or end is None:
            self.misread()
            return None
        # a tree that disagrees with the shell about where the text begins or ends would hide commands in it
        first = self.source.rfind(b"\n", 0, body.start_byte if body else end.start_byte) + 1
        if self.source[end.end_byte : end.end_byte + 1] not in (b"", b"\n"):
            self.misread()
        if self.source[last:first].strip(b" \t") != b"\n":
            self.misread()
        return Stdin("text", self.heredoc_text(start, body, self.source[first : end.end_byte], tabs))

    def heredoc_text(self, start: Node, body: Node | None, source: bytes, tabs: bool) -> Word:
        """The text that the command reads, given the source up to the end of the delimiter."""
        delimiter = read_line(self.text(start)).words
        if len(delimiter) != 1:
            self.misread()
            return Word("", False)
        lines = source.decode(errors="replace").split("\n")
        stripped = [line.lstrip("\t") if tabs else line for line in lines]
        if stripped.index(stripped[-1]) != len(stripped) - 1 or stripped[-1] != delimiter[0].text:
            self.misread()
        text = "".join(f"{line}\n" for line in stripped[:-1])
        self.found.heredocs.append(text)
        value = heredoc_value(text, delimiter[0].quoted)
        if not value.known:
            self.expansions(body, text)
        if not delimiter[0].quoted and re.search(r"(?<!\\)(?:\\\\)*\\\n", text):
            self.misread()
        return value

    def expansions(self, body: Node | None, text: str) -> None:
        """What the text of an unquoted heredoc expands."""
        seen = 0
        for child in body.children if body else ():
            if child.type in SUBSTITUTIONS:
                seen += 1
                self.substitution(child)
            elif child.type in WORDS:
                seen += len(_RUNS.findall(self.text(child)))
                self.word(child)
            elif child.type != "heredoc_content":
                self.misread()
        if len(_RUNS.findall(text)) > seen:
            self.found.unclear("its heredoc runs commands that cannot be followed")
