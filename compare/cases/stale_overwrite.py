"""Stale overwrite: somebody else changes a file between the model's read and its write."""

from __future__ import annotations

from compare.arena import Arena
from compare.case import Case, Outcome

ORDER = 3


def count(arena: Arena) -> Outcome:
    """Read, let somebody append a line, write the whole file as the model knew it."""
    rounds = 5 if arena.quick else 100
    lost = refused = 0
    with arena.tools() as tools:
        for number in range(rounds):
            path = arena.root / f"notes{number}.txt"
            path.write_text("first\nsecond\n")
            if "read" in tools.abilities:
                tools.ask("read", path=path.name)
            theirs = f"a line by somebody else, {number}\n"
            with path.open("a") as file:
                file.write(theirs)
            answer = tools.ask("write", path=path.name, text="first\nsecond, changed\n")
            lost += theirs not in path.read_text()
            refused += answer["failed"]
    return Outcome(bad=lost, of=rounds, detail=(f"{refused} writes refused",))


STALE_OVERWRITE = Case(
    name="stale-overwrite",
    title="Stale overwrite: lost changes",
    counts="The tool reads a file, another process appends a line, the tool writes the whole file as it knew it. "
    "Counted are the lines of the other process that are gone.",
    run=count,
    needs=("write",),
)
