"""How a command ended, as far as hints depend on it."""

from __future__ import annotations

import re
from dataclasses import dataclass
from functools import cached_property

from toolgate.protocol.plan import Access

_LAST = 8192
"""Characters at the end of a stream that are examined."""
_RUNNERS = re.compile(r"(?:pytest|py\.test|python|node|make|npm|npx|yarn|pnpm|tox|nox|cargo|go|mvn|gradle|\./).*")
"""Programs that may print errors, their own or those of their children, to stdout."""


@dataclass(frozen=True, kw_only=True)
class FinishedCommand:
    """A command that ended, or was ended at its deadline."""

    command: str
    access: Access
    layer: str
    """`bwrap`, `landlock` or `off`."""
    mounts: bool
    """Whether it had its own view. Otherwise the kernel denied access to paths that it could see."""
    root: str
    home: str
    directory: str
    """The directory that it started in, absolute."""
    exit_code: int | None
    """None if it was ended at the deadline."""
    stdout: str
    stderr: str
    out_of_memory: bool = False
    """Whether the kernel killed one of its processes for using too much memory."""
    jobs: bool = False
    """Whether the session has background jobs."""
    reaches_jobs: bool = False
    """Whether one of them shares the command's network."""

    @cached_property
    def commands(self) -> tuple[tuple[str, ...], ...]:
        """The words of every simple command in it; none if the command is too long to parse here."""
        from toolgate.command.analysis import analyse_quickly

        plan = analyse_quickly(self.command)
        return plan.commands if plan is not None else ()

    @cached_property
    def said(self) -> str:
        """The text in which error messages are looked for."""
        ran = any(_RUNNERS.fullmatch(words[0]) for words in self.commands)
        return self.stderr[-_LAST:] + ("\n" + self.stdout[-_LAST:] if ran else "")

    def says(self, pattern: re.Pattern[str]) -> re.Match[str] | None:
        """Find an error message that is not a quotation of the command line."""
        own = self.command.lower()
        return next((match for match in pattern.finditer(self.said) if match.group().lower() not in own), None)
