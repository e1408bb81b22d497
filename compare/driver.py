"""What a case asks of a contender. Standard library only: drivers run under the interpreters of other projects."""

from __future__ import annotations

from dataclasses import dataclass, field
from pathlib import Path
from typing import ClassVar

ABILITIES = ("read", "write", "edit", "run")


@dataclass(frozen=True)
class Answer:
    """What a tool said."""

    text: str
    failed: bool = False


@dataclass
class Person:
    """Gives the same answer to every question, and keeps the questions."""

    allows: bool
    questions: list[str] = field(default_factory=list)

    def answer(self, question: str) -> bool:
        """Whether the person agrees."""
        self.questions.append(question)
        return self.allows


class Driver:
    """The tools of one project on one directory. A method that a subclass does not override is an ability it lacks."""

    limits_time: ClassVar[bool] = False
    """Whether `run` can be given a time limit."""
    overwrites: ClassVar[bool] = True
    """Whether `write` replaces a file that exists; False: it only makes new ones."""

    def __init__(self, root: Path, person: Person) -> None:
        self.root, self.person = root, person

    @classmethod
    def load(cls) -> None:
        """Import the packages."""

    def read(self, path: str) -> Answer:
        """What the file says. A relative path is relative to the root."""
        raise NotImplementedError

    def write(self, path: str, text: str) -> Answer:
        """Replace the whole file."""
        raise NotImplementedError

    def edit(self, path: str, old: str, new: str) -> Answer:
        """Replace one line by another."""
        raise NotImplementedError

    def run(self, command: str, seconds: float) -> Answer:
        """Run a shell command in the root, for at most that long."""
        raise NotImplementedError

    def close(self) -> None:
        """End what was started."""


def abilities(driver: type[Driver]) -> list[str]:
    """The methods that a driver has."""
    found = [name for name in ABILITIES if getattr(driver, name) is not getattr(Driver, name)]
    return [*found, *(["limit"] if driver.limits_time else [])]
