"""`Scope`: what is known at one point of a command line. `Findings`: what the analysis has found so far."""

from __future__ import annotations

import posixpath
import re
import time
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from typing import Any, NamedTuple

from toolgate.command.analysis.paths import LocatedPath, Zone, expand, locate
from toolgate.command.analysis.plan import NOT_COMMANDS, Assignment, CommandPlan, Surroundings
from toolgate.command.analysis.program import program
from toolgate.command.syntax import MAX_DEPTH
from toolgate.command.syntax import Sequence as Tree
from toolgate.command.words import UNRESOLVED, Word

MAX_DIRECTORIES = 16
"""How many directories a command may run in before the directory counts as unknown."""
MAX_SCRIPT = 1 << 18
"""Maximum characters of a script that is analysed."""


_OPEN_FILE = re.compile(r"(?:/dev/fd|/proc/(?:self|thread-self|\d+)(?:/task/\d+)?/fd)/(\d+)")


def descriptor_of(text: str) -> str | None:
    """The number of the descriptor that a path stands for, such as 0 for `/dev/stdin`; None for other paths."""
    normal = re.sub("^//", "/", posixpath.normpath(text)) if text.startswith("/") else text
    if normal in ("-", "/dev/stdin"):
        return "0"
    match = _OPEN_FILE.fullmatch(normal)
    return match.group(1) if match else None


class Limits(NamedTuple):
    """How much work one analysis may take. A command line beyond a limit needs approval."""

    characters: int = 1 << 19
    """Characters of code; nested code counts again."""
    steps: int = 20_000
    """Commands that are analysed; a simple command counts twice, and once more for every 32 words."""
    seconds: float = 5.0
    """Processor time: a verdict does not depend on what else the machine does."""


FULL = Limits()
QUICK = Limits(characters=4_000, steps=200, seconds=1.0)
"""What may be analysed on the event loop: at most a few milliseconds."""


class Stdin(NamedTuple):
    """Where a command's standard input comes from."""

    kind: str
    """`pipe`, `file` or `text`."""
    word: Word = Word("")
    """The file, or the text of a heredoc or herestring."""


PIPE = Stdin("pipe")


class Findings:
    """Everything that has been found, in order."""

    def __init__(self) -> None:
        self.commands: dict[tuple[str, ...], None] = {}
        self.assignments: list[Assignment] = []
        self.dangers: dict[str, None] = {}
        self.unknown: set[str] = set()
        """The dangers that depend on something that is not known."""
        self.scripts: dict[str, None] = {}
        self.inputs: dict[str, None] = {}
        self.definitions: dict[str, str] = {}
        self.variables: dict[str, None] = {}
        self.unresolved: dict[str, None] = {}
        self.heredocs = 0
        """Characters of heredocs, which are not code."""
        self.suspects: dict[tuple[str, ...], None] = {}
        self.holds_code = False
        """Whether there is quoted text that would run something if bash were to evaluate it."""
        self.evaluates = False
        """Whether bash evaluates values somewhere: as arithmetic, as a subscript, as a name."""
        self.exhausted = False
        """Whether a limit was reached, so that part of the command line was not analysed."""

    def add_danger(self, reason: str, sure: bool = True) -> None:
        """Add a reason to ask. Without `sure`, it depends on something that is not known."""
        self.dangers[reason] = None
        if not sure:
            self.unknown.add(reason)

    def add_too_large(self, subject: str = "it") -> None:
        """Add that a limit was reached."""
        self.exhausted = True
        self.add_unclear(f"{subject} is too large to analyse")
        self.unresolved[f"{subject} is too large to analyse"] = None

    def add_unclear(self, reason: str) -> None:
        """Add a reason to ask because it is not known what runs. No policy rule can allow that."""
        self.add_danger(reason, sure=False)
        self.commands[(UNRESOLVED,)] = None

    def add_uncovered(self) -> None:
        """Add something that no rule covers which allows a command. Without such rules it is not a reason to ask."""
        self.commands[(UNRESOLVED,)] = None

    def plan(self) -> CommandPlan:
        """The result."""
        return CommandPlan(
            commands=tuple(self.commands),
            assignments=tuple(self.assignments),
            dangers=tuple(self.dangers),
            scripts=tuple(self.scripts),
            inputs=tuple(path for path in self.inputs if path not in self.scripts),
            definitions=self.definitions,
            variables=tuple(self.variables),
            unresolved=tuple(self.unresolved),
            suspects=tuple(self.suspects),
        )


@dataclass(slots=True, eq=False)
class Scope:
    """The walk's position: possible directories, standard input, depth. Findings are shared by all scopes."""

    surroundings: Surroundings
    _analyse_simple: Callable[[Scope, Sequence[Word]], None]
    _analyse_text: Callable[[Scope, str], None]
    _analyse_sequence: Callable[[Scope, Tree], None]
    limits: Limits = FULL
    findings: Findings = field(default_factory=Findings)
    cwds: tuple[str | None, ...] = ()
    """The directories that the next command may run in; None is an unknown one."""
    fallback: tuple[str | None, ...] = ()
    """The directories that it would run in if the last `cd` had failed."""
    created: set[str] = field(default_factory=set)
    """Directories that the command line itself creates."""
    written: set[str] = field(default_factory=set)
    """Files that the command line itself writes."""
    path_changed: bool = False
    stdin: Stdin | None = None
    code_from_stdin: bool = False
    """Whether the shell reads this code from its standard input. `exec < file` then replaces the rest of the code."""
    repeated: bool = False
    """Whether this command may run several times, each time with other words."""
    depth: int = 0
    functions: dict[str, tuple[Tree, ...]] = field(default_factory=dict)
    """Functions that the command line itself defines."""
    expanding: frozenset[str] = frozenset()
    """Functions and aliases that are being analysed. A definition that calls itself is not analysed again."""
    begun: float = 0.0
    """The thread's processor time when the analysis began."""
    deadline: float = 0.0
    """Until this moment of the monotonic clock, the processor time is not read, because reading it takes longer."""
    steps: int = 0
    """Steps taken so far; see `Limits.steps`."""
    characters: int = 0
    """Characters read so far; see `Limits.characters`."""

    def __post_init__(self) -> None:
        """Start in the shell's directory, and start the clocks."""
        self.cwds = (self.surroundings.cwd,)
        self.begun, self.deadline = time.thread_time(), time.monotonic() + self.limits.seconds

    def analyse_command(self, words: Sequence[Word]) -> None:
        """Analyse a command that another command runs."""
        if words and self.count_step(1 + (len(words) >> 5)) and self.descend():
            self._analyse_simple(self, words)
            self.depth -= 1

    def analyse_repeated(self, words: Sequence[Word]) -> None:
        """Analyse a command that another command may run several times, each time with other words."""
        before, self.repeated = self.repeated, True
        self.analyse_command(words)
        self.repeated = before

    def analyse_code(self, text: str, *, here: bool = False, from_stdin: bool = False) -> None:
        """Analyse shell code that a command runs, in a shell of its own or (`here`) in this one."""
        if not self.descend():
            return
        if here:
            self._analyse_text(self, text)
        else:
            outside = self.save()
            self.stdin, self.code_from_stdin = None, from_stdin
            self._analyse_text(self, text)
            self.restore(outside)
        self.depth -= 1

    def analyse_statements(self, code: Tree) -> None:
        """Analyse statements that a substitution or a function runs."""
        self._analyse_sequence(self, code)

    def count_characters(self, characters: int) -> bool:
        """Count code that is read. False if it is too much, for example because functions call each other endlessly."""
        self.characters += characters
        return self._within(self.characters <= self.limits.characters)

    def count_step(self, count: int = 1) -> bool:
        """Count a command. False if there are too many to analyse."""
        self.steps += count
        return self._within(self.steps <= self.limits.steps)

    def _within(self, allowed: bool) -> bool:
        if allowed and (time.monotonic() < self.deadline or time.thread_time() - self.begun < self.limits.seconds):
            return True
        self.findings.add_too_large()
        return False

    def note_skipped(self, reason: str) -> None:
        """Note that a part of the command line was not analysed."""
        self.findings.add_unclear(reason)
        self.findings.unresolved[reason] = None

    def descend(self) -> bool:
        """Enter one nesting level; False if the code is nested too deeply. The caller leaves it with `depth -= 1`."""
        if self.depth >= MAX_DEPTH:
            self.note_skipped("it is nested too deeply to follow")
            return False
        self.depth += 1
        return True

    def save(self) -> tuple[Any, ...]:
        """Return the state that a subshell must not change, for `restore`."""
        return self.cwds, self.fallback, self.stdin, self.path_changed, self.code_from_stdin

    def restore(self, saved: tuple[Any, ...]) -> None:
        """Restore the state at the end of a subshell."""
        self.cwds, self.fallback, self.stdin, self.path_changed, self.code_from_stdin = saved

    def enter(self, directories: tuple[str | None, ...], certain: bool) -> None:
        """Change the directory; `certain` if that cannot fail."""
        self.fallback = () if certain else (*self.fallback, *self.cwds)
        self._set_directories(directories)

    def _set_directories(self, directories: tuple[str | None, ...]) -> None:
        """Set the possible directories. If there are too many, the directory counts as unknown."""
        self.cwds = directories if len(directories) <= MAX_DIRECTORIES else (None,)

    def settle(self) -> None:
        """Note that what follows runs whether or not the last `cd` worked."""
        if self.fallback:
            self.join(self.fallback)
            self.fallback = ()

    def join(self, directories: tuple[str | None, ...]) -> None:
        """Note that what follows may also run in one of these directories."""
        if directories != self.cwds:
            self._set_directories(tuple(dict.fromkeys((*directories, *self.cwds))))

    def locate(self, text: str) -> LocatedPath:
        """Return where a path leads from the current directories."""
        return locate(text, self.cwds, self.surroundings)

    def matches(self, word: Word) -> tuple[str, ...] | None:
        """Return the paths inside the root that a word may name; None if only the shell knows them.

        A pattern stands for the files that it matches now, or for itself if it matches none.
        """
        location = self.locate(word.text)
        if word.known or location.zone is not Zone.inside:
            return location.paths if location.zone is Zone.inside else None
        found: list[str] = []
        for path in location.paths:
            expanded = expand(path, self.surroundings)
            if expanded is None:
                return None
            found.extend(expanded or [path])
        return tuple(found)

    def note_path(self, text: str, *, reads: bool = False) -> LocatedPath:
        """Locate a path; note it if it is outside the root. With `reads`, what the sandbox shows is not a danger."""
        location = self.locate(text)
        if location.zone in (Zone.outside, Zone.shown):
            self.findings.commands[("..", text)] = None
            if location.zone is Zone.outside or not reads:
                self.findings.add_danger(f"'{text}' is outside the root")
        return location

    def note_write(self, word: Word, append: bool = False) -> None:
        """Note a file that is written."""
        location = self.note_path(word.text)
        if location.zone is Zone.free:
            return
        self.written.update(location.paths)
        self.findings.commands[(">>" if append else ">", word.text)] = None
        if append or location.zone not in (Zone.inside, Zone.unknown):
            return
        if any(self.surroundings.kind(path) == "file" for path in location.paths):
            self.findings.add_danger(f"it overwrites '{word.text}', which exists")
        elif location.zone is Zone.unknown or not word.known:
            reason = f"it writes to '{word.raw or word.text}', which is only known when it runs"
            self.findings.add_danger(reason, sure=False)

    def note_edits(self, words: Sequence[Word]) -> None:
        """Note files that are edited in place. If one of them is run later, its content is not what can be read now."""
        for word in words:
            self.written.update(self.matches(word) or ())

    def note_input(self, word: Word) -> None:
        """Note a file whose content decides what the command does."""
        location = self.locate(word.text)
        if location.zone is Zone.free:
            return
        if location.zone is not Zone.inside or not word.known:
            self.findings.unresolved[f"it reads '{word.raw or word.text}'"] = None
            return
        for path in location.paths:
            self.findings.inputs[path] = None

    def note_script(self, word: Word) -> tuple[str, ...]:
        """Note a file whose content is run. Return its possible paths inside the root."""
        location = self.note_path(word.text)
        if location.zone is not Zone.inside or not word.known:
            return ()
        for path in location.paths:
            self.findings.scripts[path] = None
        return location.paths

    def is_unreadable(self, text: str) -> bool:
        """Whether a file is in a private directory of the session, which cannot be read from outside the sandbox."""
        return self.locate(text).zone is Zone.scratch

    def _may_have_written(self) -> bool:
        """Whether an earlier command of the line may have created a file."""
        names = {words[0] for words in self.findings.commands} - NOT_COMMANDS - {".", "source"}
        return any(name == "git" or not (program(name).reads or program(name).shell) for name in names)

    def analyse_script(self, path: str, *, here: bool = False) -> None:
        """Analyse a script of the project, which runs in a shell of its own or (`here`) in this one.

        Its commands and their certain effects count. What is only known when it runs does not count, because the
        project's other programs are not analysed at all.
        """
        if path in self.written:
            self.note_skipped(f"it runs '{path}', which it writes itself")
            return
        text = self.surroundings.content(path)
        if text is None and self.surroundings.kind(path) == "absent" and self._may_have_written():
            self.note_skipped(f"it runs '{path}', which does not exist yet")
        if text is None or (name := f"./{path}") in self.expanding:
            return
        if len(text) > MAX_SCRIPT:
            self.findings.add_too_large(f"the script '{path}'")
            return
        outer, before = self.findings, self.expanding
        self.findings, self.expanding = Findings(), before | {name}
        self.analyse_code(text)
        inner, self.findings, self.expanding = self.findings, outer, before
        if inner.exhausted:
            outer.add_too_large(f"the script '{path}'")
        outer.scripts.update(inner.scripts)
        outer.suspects.update(inner.suspects)
        outer.inputs.update(inner.inputs)
        if here:
            outer.variables.update(inner.variables)
            outer.unresolved.update({f"in '{path}': {reason}": None for reason in inner.unresolved})
        outer.commands.update({words: None for words in inner.commands if words[0] not in NOT_COMMANDS})
        for reason in inner.dangers:
            if reason not in inner.unknown:
                outer.add_danger(f"in '{path}': {reason}")
