"""What is known at one point of a command line, and what has been found so far."""

from __future__ import annotations

import posixpath
import re
import time
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from typing import Any, NamedTuple

from toolgate.command.analysis.paths import JudgedPath, Where, expand, locate
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
        """Whether a limit was reached, so that part of the command line was not looked at."""

    def danger(self, reason: str, sure: bool = True) -> None:
        """A reason to ask; without `sure`, it depends on something that is not known."""
        self.dangers[reason] = None
        if not sure:
            self.unknown.add(reason)

    def too_large(self, what: str = "it") -> None:
        """A limit is reached."""
        self.exhausted = True
        self.unclear(f"{what} is too large to analyse")
        self.unresolved[f"{what} is too large to analyse"] = None

    def unclear(self, reason: str) -> None:
        """A reason to ask that no rule can answer: what runs is not known."""
        self.danger(reason, sure=False)
        self.commands[(UNRESOLVED,)] = None

    def uncovered(self) -> None:
        """No rule that allows a command covers this. Without rules it is not a reason to ask."""
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

    around: Surroundings
    _run: Callable[[Scope, Sequence[Word]], None]
    _code: Callable[[Scope, str], None]
    _sequence: Callable[[Scope, Tree], None]
    limits: Limits = FULL
    found: Findings = field(default_factory=Findings)
    cwds: tuple[str | None, ...] = ()
    """The directories that the next command may run in; None is an unknown one."""
    fallback: tuple[str | None, ...] = ()
    """Where it would be if the last `cd` had failed."""
    made: set[str] = field(default_factory=set)
    """Directories that the command line itself makes."""
    written: set[str] = field(default_factory=set)
    """Files that the command line itself writes."""
    path_changed: bool = False
    stdin: Stdin | None = None
    code_from_stdin: bool = False
    """Whether the shell reads the code that is looked at from its standard input, which `exec < file` then replaces."""
    repeated: bool = False
    """Whether what is looked at may run several times, each time with other words."""
    depth: int = 0
    functions: dict[str, tuple[Tree, ...]] = field(default_factory=dict)
    """Functions that the command line itself defines."""
    expanding: frozenset[str] = frozenset()
    """Functions and aliases that are being followed."""
    begun: float = 0.0
    """The thread's processor time when the analysis began."""
    deadline: float = 0.0
    """Until this moment of the monotonic clock, the processor time is not read, because reading it takes longer."""
    steps: int = 0
    read: int = 0

    def __post_init__(self) -> None:
        """Start in the shell's directory, and start the clocks."""
        self.cwds = (self.around.cwd,)
        self.begun, self.deadline = time.thread_time(), time.monotonic() + self.limits.seconds

    def run(self, words: Sequence[Word]) -> None:
        """Look at a command that some other one runs."""
        if words and self.step(1 + (len(words) >> 5)) and self.descend():
            self._run(self, words)
            self.depth -= 1

    def repeat(self, words: Sequence[Word]) -> None:
        """Look at a command that some other one runs again and again."""
        before, self.repeated = self.repeated, True
        self.run(words)
        self.repeated = before

    def code(self, text: str, *, here: bool = False, from_stdin: bool = False) -> None:
        """Look at shell code that some command runs, in a shell of its own or (`here`) in this one."""
        if not self.descend():
            return
        if here:
            self._code(self, text)
        else:
            outside = self.save()
            self.stdin, self.code_from_stdin = None, from_stdin
            self._code(self, text)
            self.restore(outside)
        self.depth -= 1

    def statements(self, code: Tree) -> None:
        """Look at statements that a substitution runs."""
        self._sequence(self, code)

    def work(self, characters: int) -> bool:
        """Count text that is read; False where it is too much, as in code that contains itself again and again."""
        self.read += characters
        return self._within(self.read <= self.limits.characters)

    def step(self, count: int = 1) -> bool:
        """Count a command; False where there are too many to look at."""
        self.steps += count
        return self._within(self.steps <= self.limits.steps)

    def _within(self, allowed: bool) -> bool:
        if allowed and (time.monotonic() < self.deadline or time.thread_time() - self.begun < self.limits.seconds):
            return True
        self.found.too_large()
        return False

    def unfollowed(self, reason: str) -> None:
        """Note that a part of the command line was not looked at."""
        self.found.unclear(reason)
        self.found.unresolved[reason] = None

    def descend(self) -> bool:
        """One level down, if that can still be followed; the caller comes up again by `depth -= 1`."""
        if self.depth >= MAX_DEPTH:
            self.unfollowed("it is nested too deeply to follow")
            return False
        self.depth += 1
        return True

    def save(self) -> tuple[Any, ...]:
        """The state that a subshell must not change outside, for `restore`."""
        return self.cwds, self.fallback, self.stdin, self.path_changed, self.code_from_stdin

    def restore(self, saved: tuple[Any, ...]) -> None:
        """Leave a subshell."""
        self.cwds, self.fallback, self.stdin, self.path_changed, self.code_from_stdin = saved

    def enter(self, directories: tuple[str | None, ...], certain: bool) -> None:
        """Change the directory; `certain` if that cannot fail."""
        self.fallback = () if certain else (*self.fallback, *self.cwds)
        self._set_directories(directories)

    def _set_directories(self, directories: tuple[str | None, ...]) -> None:
        """Set the possible directories; too many of them count as an unknown one."""
        self.cwds = directories if len(directories) <= MAX_DIRECTORIES else (None,)

    def settle(self) -> None:
        """What follows runs whether the last `cd` worked or not."""
        if self.fallback:
            self.join(self.fallback)
            self.fallback = ()

    def join(self, directories: tuple[str | None, ...]) -> None:
        """What follows may also run in one of these directories."""
        if directories != self.cwds:
            self._set_directories(tuple(dict.fromkeys((*directories, *self.cwds))))

    def place(self, text: str) -> JudgedPath:
        """Where a path leads from here."""
        return locate(text, self.cwds, self.around)

    def matches(self, word: Word) -> tuple[str, ...] | None:
        """The paths inside the root that a word may name; None if only the shell knows them.

        A pattern stands for what it finds now, or for itself where it finds nothing.
        """
        place = self.place(word.text)
        if word.known or place.where is not Where.inside:
            return place.paths if place.where is Where.inside else None
        found: list[str] = []
        for path in place.paths:
            expanded = expand(path, self.around)
            if expanded is None:
                return None
            found.extend(expanded or [path])
        return tuple(found)

    def path(self, text: str, *, reads: bool = False) -> JudgedPath:
        """`place`, and a path outside the root is noted. Reading (`reads`) what the sandbox shows is not a danger."""
        place = self.place(text)
        if place.where in (Where.outside, Where.shown):
            self.found.commands[("..", text)] = None
            if place.where is Where.outside or not reads:
                self.found.danger(f"'{text}' is outside the root")
        return place

    def write(self, word: Word, append: bool = False) -> None:
        """Note a file that is written."""
        place = self.path(word.text)
        if place.where is Where.free:
            return
        self.written.update(place.paths)
        self.found.commands[(">>" if append else ">", word.text)] = None
        if append or place.where not in (Where.inside, Where.unknown):
            return
        if any(self.around.kind(path) == "file" for path in place.paths):
            self.found.danger(f"it overwrites '{word.text}', which exists")
        elif place.where is Where.unknown or not word.known:
            self.found.danger(f"it writes to '{word.raw or word.text}', which is only known when it runs", sure=False)

    def edit(self, words: Sequence[Word]) -> None:
        """Note files that are edited in place: a script that is run afterwards is not the one that can be read now."""
        for word in words:
            self.written.update(self.matches(word) or ())

    def input(self, word: Word) -> None:
        """Note a file whose content decides what the command does."""
        place = self.place(word.text)
        if place.where is Where.free:
            return
        if place.where is not Where.inside or not word.known:
            self.found.unresolved[f"it reads '{word.raw or word.text}'"] = None
            return
        for path in place.paths:
            self.found.inputs[path] = None

    def script(self, word: Word) -> tuple[str, ...]:
        """Note a file whose content is run; where it may be inside the root."""
        place = self.path(word.text)
        if place.where is not Where.inside or not word.known:
            return ()
        for path in place.paths:
            self.found.scripts[path] = None
        return place.paths

    def is_unreadable(self, text: str) -> bool:
        """Whether a file is in a private directory of the session, which cannot be read from outside the sandbox."""
        return self.place(text).where is Where.scratch

    def _may_have_written(self) -> bool:
        """Whether an earlier command of the line may have made a file."""
        names = {words[0] for words in self.found.commands} - NOT_COMMANDS - {".", "source"}
        return any(name == "git" or not (program(name).reads or program(name).shell) for name in names)

    def follow(self, path: str, *, here: bool = False) -> None:
        """Look at what a script of the project runs, in a shell of its own or (`here`) in this one.

        Its commands and their certain effects count; what is only known when it runs does not, as in other programs.
        """
        if path in self.written:
            self.unfollowed(f"it runs '{path}', which it writes itself")
            return
        text = self.around.content(path)
        if text is None and self.around.kind(path) == "absent" and self._may_have_written():
            self.unfollowed(f"it runs '{path}', which does not exist yet")
        if text is None or (name := f"./{path}") in self.expanding:
            return
        if len(text) > MAX_SCRIPT:
            self.found.too_large(f"the script '{path}'")
            return
        outer, before = self.found, self.expanding
        self.found, self.expanding = Findings(), before | {name}
        self.code(text)
        inner, self.found, self.expanding = self.found, outer, before
        if inner.exhausted:
            outer.too_large(f"the script '{path}'")
        outer.scripts.update(inner.scripts)
        outer.suspects.update(inner.suspects)
        outer.inputs.update(inner.inputs)
        if here:
            outer.variables.update(inner.variables)
            outer.unresolved.update({f"in '{path}': {reason}": None for reason in inner.unresolved})
        outer.commands.update({words: None for words in inner.commands if words[0] not in NOT_COMMANDS})
        for reason in inner.dangers:
            if reason not in inner.unknown:
                outer.danger(f"in '{path}': {reason}")
