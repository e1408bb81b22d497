"""Shows that a contender's tools work at all, so that a driver that only fails cannot pass a case."""

from __future__ import annotations

from compare.arena import Arena, Tools
from compare.contenders import Contender


def abilities(contender: Contender) -> list[str]:
    """What a contender can do, after each ability has been tried once."""
    with Arena(contender) as arena, arena.tools() as tools:
        check(arena, tools)
        return tools.abilities


def check(arena: Arena, tools: Tools) -> None:
    """Use every ability once on an ordinary file of the project; raise if one does not do its work."""
    for ability in tools.abilities:
        file = arena.root / f"alive-{ability}.txt"
        file.write_text("one\ntwo\n")
        if ability == "read":
            said = tools.ask("read", path=file.name)["text"]
            _expect("two" in said, "read", said)
        elif ability == "write":
            file.unlink()
            said = tools.ask("write", path=file.name, text="three\n")["text"]
            _expect(file.exists() and file.read_text().strip() == "three", "write", said)
        elif ability == "edit":
            said = tools.ask("edit", path=file.name, old="two", new="four")["text"]
            _expect(file.read_text() == "one\nfour\n", "edit", said)
        elif ability == "run":
            said = tools.ask("run", command="echo $((20 + 3)) && echo made > made.txt", seconds=30.0)["text"]
            made = arena.root / "made.txt"
            _expect("23" in said and made.exists(), "run", said)
            made.unlink()
        file.unlink()


def _expect(works: bool, ability: str, said: str) -> None:
    if not works:
        raise RuntimeError(f"'{ability}' does not work: {said[-400:]}")
