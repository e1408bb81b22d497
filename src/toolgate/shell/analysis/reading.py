"""Words out of the syntax tree. Every literal is read again here, so that a mistake of the grammar is noticed."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING

from toolgate.shell.analysis.known import names
from toolgate.shell.analysis.scope import Scope
from toolgate.shell.words import UNRESOLVED, Word, ansi_c, unescape, unescape_double

if TYPE_CHECKING:
    from tree_sitter import Node

_PLAIN = re.compile(r"[A-Za-z0-9_@%+=:,./^-]+")
_BARE = re.compile(r"(?:[^ \t\n\\'\"`$;&|<>()]|\\.)+", re.DOTALL)
_ESCAPED = re.compile(r"\\.", re.DOTALL)
_EXPANDS = re.compile(r"[*?]|\[.*\]|\{.*(?:,|\.\.).*\}|^~|[@!+](?=\()", re.DOTALL)
_ACTIVE = re.compile(r"(?<!\\)(?:\\\\)*(?:`|\$[\w@*#?$!({\[-])")
_HIDDEN_CODE = re.compile(r"`|\$\(|[<>]\(")
_NAMED = re.compile(r"\$(?:[A-Za-z_]\w*|\d|[@*#?$!_-])", re.ASCII)
_QUOTES = re.compile(r"['\"\\]")
_BLANK = re.compile(r"(?:\\\n)*(?:[ \t](?:\\\n)*)+")
_SPACE = re.compile(r"(?:[ \t\n]|\\\n)*")

WORDS = names(
    "word number string raw_string ansi_c_string concatenation simple_expansion expansion arithmetic_expansion "
    "command_substitution process_substitution brace_expression variable_name regex extglob_pattern"
)
"""Node types that are a word, or a piece of one."""
SUBSTITUTIONS = frozenset({"command_substitution", "process_substitution"})


class WordReader:
    """Reads words from one piece of source."""

    def __init__(self, source: bytes, scope: Scope) -> None:
        self.source = source
        self.scope = scope
        self.found = scope.found

    def text(self, node: Node) -> str:
        """The source of a node."""
        return self.source[node.start_byte : node.end_byte].decode(errors="replace")

    def substitution(self, node: Node) -> None:
        """Look at the commands of a substitution."""
        raise NotImplementedError

    def children(self, node: Node, lines: bool = False, dashes: list[Word] | None = None) -> list[Node]:
        """The children, after a look at what the grammar skipped between them.

        Before a heredoc it skips a lone `-`, which is a word: it is added to `dashes`.
        """
        children = node.children
        end = node.start_byte
        pattern = _SPACE if lines else _BLANK
        for child in children:
            start = child.start_byte
            if start != end:
                gap = self.source[end:start]
                if dashes is not None and gap.strip(b" \t") == b"-":
                    dashes.append(Word("-", raw="-"))
                elif gap != b" " and not pattern.fullmatch(gap.decode(errors="replace")):
                    self.misread()
            end = child.end_byte
        return children

    def misread(self) -> None:
        """The grammar and the shell may not agree."""
        self.found.unclear("its quoting or syntax cannot be followed")

    def word(self, node: Node) -> Word:
        """The word that a node stands for."""
        raw = self.text(node)
        if node.type in ("word", "number", "variable_name") and _PLAIN.fullmatch(raw):
            return Word(raw, True, False, raw)
        text, known, bare = self._piece(node, raw)
        if text.startswith("~") and bare.startswith("~"):
            home = self.scope.around.home
            if home and text[1:2] in ("", "/"):
                text = home + text[1:]
        if _EXPANDS.search(bare):
            known = False
        return Word(text, known, _QUOTES.search(raw) is not None, raw)

    def _piece(self, node: Node, raw: str) -> tuple[str, bool, str]:
        """A piece's value, whether it is known, and its unquoted source (quoted characters become `x`)."""
        kind = node.type
        if kind == "concatenation":
            return self._joined(node)
        if kind == "string":
            text, known = self._double(node)
            return text, known, "x" * len(text)
        if kind == "raw_string":
            if len(raw) < 2 or raw[0] != "'" or raw[-1] != "'" or "'" in raw[1:-1]:
                self.misread()
            return raw[1:-1], True, "x" * (len(raw) - 2)
        if kind == "ansi_c_string":
            value = ansi_c(raw[2:-1])
            return (UNRESOLVED, False, "x") if value is None else (value, True, "x" * len(value))
        if kind in ("word", "number", "variable_name", "brace_expression"):
            return self._bare(raw)
        if kind in ("$", "==", "=~", "="):
            return (raw, True, "x") if raw == kind else (UNRESOLVED, False, "x")
        return self._expansion(node, raw), False, "x"

    def _joined(self, node: Node) -> tuple[str, bool, str]:
        parts: list[tuple[str, bool, str]] = []
        end = node.start_byte
        dollar = False
        for child in node.children:
            if child.start_byte != end:
                self.misread()
            end = child.end_byte
            if dollar:
                # only at the end of a word a `$` stands for itself: `$$` is a number, `$"…"` a translated string
                parts[-1] = ("", True, "") if child.type == "string" else (UNRESOLVED, False, "x")
            parts.append(self._piece(child, self.text(child)))
            dollar = child.type == "$"
        return "".join(p[0] for p in parts), all(p[1] for p in parts), "".join(p[2] for p in parts)

    def _bare(self, raw: str) -> tuple[str, bool, str]:
        if not _BARE.fullmatch(raw):
            self.misread()
            return UNRESOLVED, False, "x"
        return (unescape(raw), True, _ESCAPED.sub("x", raw)) if "\\" in raw else (raw, True, raw)

    def _double(self, node: Node) -> tuple[str, bool]:
        """A double-quoted string: the grammar says where expansions are, the rest must be free of them."""
        end = node.end_byte - 1
        if self.source[node.start_byte : node.start_byte + 1] != b'"' or self.source[end : end + 1] != b'"':
            self.misread()
            return UNRESOLVED, False
        known = True
        parts: list[str] = []
        at = node.start_byte + 1
        for child in node.children:
            if child.type in ('"', "string_content", "$"):
                continue
            parts.append(self._literal(at, child.start_byte))
            parts.append(self._expansion(child, self.text(child)))
            known = False
            at = child.end_byte
        parts.append(self._literal(at, end))
        return "".join(parts), known

    def _literal(self, start: int, end: int) -> str:
        text = self.source[start:end].decode(errors="replace")
        if "$" in text or "`" in text or '"' in text:
            plain = _ESCAPED.sub("x", text)
            if '"' in plain or _ACTIVE.search(text):
                self.misread()
        return unescape_double(text)

    def _expansion(self, node: Node, raw: str) -> str:
        """What an expansion stands for, as far as that is known; what it runs is looked at."""
        if node.type in SUBSTITUTIONS:
            self.substitution(node)
            return self._value("PWD") if raw == "$(pwd)" else UNRESOLVED
        if node.type == "simple_expansion":
            if not _NAMED.fullmatch(raw):
                self.misread()
            return self._value(raw[1:])
        if node.type == "expansion":
            if raw[2:-1].isidentifier():
                return self._value(raw[2:-1])
            self._operators(node, raw)
        elif node.type not in ("arithmetic_expansion", "extglob_pattern", "regex"):
            self.misread()
        self.inner(node)
        return UNRESOLVED

    def _operators(self, node: Node, raw: str) -> None:
        if "@P" in raw:
            self.found.unclear("'${…@P}' runs what a variable contains")
        if any(child.type in ("=", ":=") for child in node.children):
            name = next((self.text(child) for child in node.children if child.type == "variable_name"), UNRESOLVED)
            self.assigned(name, Word(UNRESOLVED, False))

    def assigned(self, name: str, value: Word) -> None:
        """Note a variable that is set."""
        raise NotImplementedError

    def _value(self, name: str) -> str:
        if name == "HOME":
            return self.scope.around.home or "~"
        if name == "TMPDIR":
            return self.scope.around.scratch[0] if self.scope.around.scratch else UNRESOLVED
        cwd = self.scope.cwds[0]
        if name == "PWD" and len(self.scope.cwds) == 1 and cwd is not None:
            root = self.scope.around.root.rstrip("/")
            return cwd if cwd.startswith("/") else root if cwd == "." else f"{root}/{cwd}"
        return UNRESOLVED

    def inner(self, node: Node) -> None:
        """Look for commands anywhere inside an expression; code in its literals would be run as well."""
        stack = list(node.children)
        while stack:
            child = stack.pop()
            if child.type in SUBSTITUTIONS:
                self.substitution(child)
            elif child.child_count:
                stack.extend(child.children)
            elif child.is_named and _HIDDEN_CODE.search(self.text(child)):
                self.misread()
