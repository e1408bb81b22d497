"""How a command ended, as far as a hint may depend on it."""

from __future__ import annotations

import re
from dataclasses import dataclass
from functools import cached_property

from toolgate.protocol.plan import Access

_LAST = 8192
"""Characters of a stream that are looked at: its end."""
_RUNNERS = re.compile(r"(?:pytest|py\.test|python|node|make|npm|npx|yarn|pnpm|tox|nox|cargo|go|mvn|gradle|\./).*")
"""Programs whose complaints, or those of what they run, may be on stdout."""


@dataclass(frozen=True, kw_only=True)
class CommandEnd:
    """A command that ended, or was ended at its deadline."""

    command: str
    access: Access
    layer: str
    """`bwrap`, `landlock` or `off`."""
    mounts: bool
    """Whether it had a view of its own; otherwise the kernel denied what it could see."""
    root: str
    home: str
    directory: str
    """Where it began, absolute."""
    exit_code: int | None
    """None at the deadline."""
    stdout: str
    stderr: str
    out_of_memory: bool = False
    """Whether the kernel ended something in it for taking too much memory."""
    jobs: bool = False
    """Whether the session has background jobs."""

    @cached_property
    def commands(self) -> tuple[tuple[str, ...], ...]:
        """The words of every simple command in it; none of a command that is too long to be looked at here."""
        from toolgate.command.analysis import analyse_quickly

        plan = analyse_quickly(self.command)
        return plan.commands if plan is not None else ()

    @cached_property
    def said(self) -> str:
        """What it complained about."""
        ran = any(_RUNNERS.fullmatch(words[0]) for words in self.commands)
        return self.stderr[-_LAST:] + ("\n" + self.stdout[-_LAST:] if ran else "")

    def says(self, pattern: re.Pattern[str]) -> re.Match[str] | None:
        """A complaint that is not a quotation of the command line."""
        own = self.command.lower()
        return next((match for match in pattern.finditer(self.said) if match.group().lower() not in own), None)
