"""Ignore rules: `.gitignore` files and `.git/info/exclude`, as ripgrep interprets them.

The deepest file with a rule for a path decides, and in it the last such rule. The `info/exclude` of the root's
repository comes last. An ignored directory is not entered, so nothing below it can be included again.

This module, `walk` and `python_scan` use plain classes: the search worker imports them, and `dataclasses` would double
its start time.
"""

import re
from collections.abc import Sequence

from toolgate.search import globs

MAX_BYTES = 1 << 20
"""Bytes of an ignore file that are read. The rest is ignored."""


class IgnoreRule:
    """One line of an ignore file."""

    __slots__ = ("negated", "only_dirs", "segments")

    def __init__(self, segments: tuple[str, ...], negated: bool, only_dirs: bool) -> None:
        self.segments = segments
        """Relative to the file's directory, with `**` in front if the line has no slash."""
        self.negated = negated
        self.only_dirs = only_dirs

    def line(self) -> str:
        """Return the rule as a line."""
        return f"{'!' * self.negated}/{'/'.join(self.segments)}{'/' * self.only_dirs}"


def parse(text: str) -> list[IgnoreRule]:
    """Parse an ignore file. Invalid lines are skipped."""
    rules: list[IgnoreRule] = []
    for line in text.removeprefix("\ufeff").split("\n"):
        try:
            rules.extend(_parse_line(line))
        except globs.GlobError:
            continue
    return rules


def _parse_line(line: str) -> list[IgnoreRule]:
    if line.startswith("#"):
        return []
    if not line.endswith("\\ "):
        line = line.rstrip()
    negated = line.startswith("!")
    body = line[1:] if negated else line
    if not body:
        return []
    anchored = "/" in body[:-1]
    only_dirs = body.endswith("/")
    rules = []
    for pattern in globs.expand(body.rstrip("/") if only_dirs else body):
        segments = globs.split(pattern)
        if not segments:
            continue
        globs.path_regex(segments)
        deep = segments if anchored or segments[0] == "**" else ["**", *segments]
        rules.append(IgnoreRule(tuple(deep), negated, only_dirs))
    return rules


def below(rules: list[IgnoreRule], folders: Sequence[str]) -> list[IgnoreRule]:
    """Convert the rules for a directory further down: what remains of each after `folders` have been matched."""
    for folder in folders:
        rules = [
            IgnoreRule(rest, rule.negated, rule.only_dirs)
            for rule in rules
            for rest in dict.fromkeys(_step(rule.segments, folder))
        ]
    return rules


def _step(segments: tuple[str, ...], folder: str) -> list[tuple[str, ...]]:
    if segments[0] == "**":
        further = _step(segments[1:], folder) if len(segments) > 1 else []
        return [*further, segments]
    if len(segments) > 1 and re.fullmatch(globs.segment_regex(segments[0]), folder, re.DOTALL):
        return [segments[1:]]
    return []


class _Matcher:
    """The rules of one file for one kind of entry, indexed so that two look-ups decide most names."""

    def __init__(self) -> None:
        self.literals: dict[str, int] = {}
        self.suffixes: dict[str, int] = {}
        self.names: list[tuple[str, int]] = []
        self.paths: list[tuple[str, int]] = []
        self._names: re.Pattern[str] | None = None
        self._paths: re.Pattern[str] | None = None

    def add(self, index: int, rule: IgnoreRule) -> None:
        """Add a rule. Later rules win."""
        segments = list(rule.segments)
        if len(segments) != 2 or segments[0] != "**" or segments[1] == "**":
            self.paths.insert(0, (globs.path_regex(segments), index))
        elif globs.is_literal(segments[1]):
            self.literals[segments[1]] = index
        elif re.fullmatch(r"\*\.[^*?\[\\.]+", segments[1]):
            self.suffixes[segments[1][1:]] = index
        else:
            self.names.insert(0, (globs.segment_regex(segments[1]), index))

    def compile(self) -> None:
        """Compile the expressions."""
        self._names = _alternation(self.names)
        self._paths = _alternation(self.paths)

    def last(self, name: str, path: str) -> int:
        """Return the index of the last rule that matches, or -1."""
        best = self.literals.get(name, -1)
        if self.suffixes and (dot := name.rfind(".")) >= 0:
            best = max(best, self.suffixes.get(name[dot:], -1))
        if self._names is not None and (found := self._names.fullmatch(name)):
            best = max(best, self.names[(found.lastindex or 1) - 1][1])
        if self._paths is not None and (found := self._paths.fullmatch(path)):
            best = max(best, self.paths[(found.lastindex or 1) - 1][1])
        return best


def _alternation(expressions: list[tuple[str, int]]) -> re.Pattern[str] | None:
    if not expressions:
        return None
    return re.compile("|".join(f"({expression})" for expression, _ in expressions), re.DOTALL)


class IgnoreFile:
    """The compiled rules of one file."""

    def __init__(self, rules: list[IgnoreRule], base: str = "") -> None:
        self._skip = len(base)
        self._negated = [rule.negated for rule in rules]
        self.for_files, self._dirs = _Matcher(), _Matcher()
        for index, rule in enumerate(rules):
            self._dirs.add(index, rule)
            if not rule.only_dirs:
                self.for_files.add(index, rule)
        self.for_files.compile()
        self._dirs.compile()

    def verdict(self, name: str, folder: str, is_dir: bool) -> bool | None:
        """Whether `folder` + `name` is ignored; None if no rule matches. `folder` is empty or ends with `/`."""
        matcher = self._dirs if is_dir else self.for_files
        index = matcher.last(name, (folder + name)[self._skip :] if matcher.paths else "")
        return None if index < 0 else not self._negated[index]


class Ignores:
    """Every rule that applies in one directory."""

    __slots__ = ("_quick", "files", "inherited")

    def __init__(self, files: tuple[IgnoreFile, ...] = (), inherited: tuple[IgnoreFile, ...] = ()) -> None:
        self.files = files
        """The `.gitignore` files, deepest first."""
        self.inherited = inherited
        """What follows them: the rules from above the search, and `info/exclude`."""
        self._quick: tuple[frozenset[str] | None, frozenset[str]] | None = None

    @classmethod
    def inheriting(cls, lines: list[str] | None) -> "Ignores | None":
        """Return the rules at the start of a walk, given those from above; None if nothing is ignored."""
        if lines is None:
            return None
        return cls(inherited=(IgnoreFile(parse("\n".join(lines))),) if lines else ())

    def keep(self, names: list[str], folder: str) -> list[str]:
        """Return the files of `folder` that are not ignored."""
        if self._quick is None:
            self._quick = self._suspects()
        literals, suffixes = self._quick
        if literals is None:
            return [name for name in names if not self.ignored(name, folder, False)]
        doubtful = {name for name in names if name in literals or name[name.rfind(".") :] in suffixes}
        if not doubtful:
            return names
        return [name for name in names if name not in doubtful or not self.ignored(name, folder, False)]

    def _suspects(self) -> tuple[frozenset[str] | None, frozenset[str]]:
        """Names and suffixes such that all other files are not ignored; None if there is no such simple rule."""
        matchers = [source.for_files for source in (*self.files, *self.inherited)]
        if any(matcher.names or matcher.paths for matcher in matchers):
            return None, frozenset()
        return (
            frozenset(name for matcher in matchers for name in matcher.literals),
            frozenset(suffix for matcher in matchers for suffix in matcher.suffixes),
        )

    def ignored(self, name: str, folder: str, is_dir: bool) -> bool:
        """Whether an entry of `folder` is ignored."""
        for source in (*self.files, *self.inherited):
            verdict = source.verdict(name, folder, is_dir)
            if verdict is not None:
                return verdict
        return False

    def enter(self, folder: str, gitignore: str) -> "Ignores":
        """Return the rules inside `folder`, given the text of its ignore file."""
        return Ignores((IgnoreFile(parse(gitignore), folder), *self.files), self.inherited)
