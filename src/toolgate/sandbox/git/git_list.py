"""Git commands that may write the repository, and which parts of it they need."""

from __future__ import annotations

from dataclasses import dataclass

_SEQUENCED = {
    "rebase": frozenset({"rebase-merge", "rebase-apply", "sequencer"}),
    "am": frozenset({"rebase-apply"}),
    "cherry-pick": frozenset({"sequencer"}),
    "revert": frozenset({"sequencer"}),
    "commit": frozenset({"sequencer"}),
    "reset": frozenset({"sequencer"}),
}
"""git's own todo lists, which a command executes."""


@dataclass(frozen=True, slots=True)
class GitList:
    """A sequence of git commands."""

    verbs: frozenset[str]
    records: bool = False
    """Whether they only record what is there and show no content. Then nothing but these git commands runs."""

    @property
    def parts(self) -> frozenset[str]:
        """The pinned parts of the repository that these commands have to write."""
        return frozenset(part for verb in self.verbs for part in _SEQUENCED.get(verb, ()))
