"""A contender that does nothing does not pass: its abilities are tried before anything is counted."""

from pathlib import Path

import pytest

from compare import alive
from compare.arena import Arena
from compare.contenders import CONTENDERS
from compare.driver import Answer, Driver, abilities

NAIVE = next(one for one in CONTENDERS if one.module == "naive")


class Lazy(Driver):
    """Says that it has written and has not."""

    def write(self, path: str, text: str) -> Answer:
        return Answer("written")


class Idle:
    """Answers every request like `Lazy`."""

    abilities = abilities(Lazy)

    def ask(self, do: str, wait: float = 0.0, **_: object) -> dict[str, object]:
        return {"text": "written", "failed": False, "asked": 0}


def test_an_ability_is_a_method_that_is_there() -> None:
    assert abilities(Lazy) == ["write"]


def test_a_tool_that_does_not_do_its_work_is_an_error() -> None:
    with Arena(NAIVE) as arena, pytest.raises(RuntimeError, match="'write' does not work: written"):
        alive.check(arena, Idle())  # type: ignore[arg-type]


def test_the_control_can_do_everything() -> None:
    assert alive.abilities(NAIVE) == ["read", "write", "edit", "run", "limit"]


def test_an_arena_leaves_nothing_behind() -> None:
    with Arena(NAIVE) as arena, arena.tools() as tools:
        tools.ask("run", command="setsid sleep 600 >/dev/null 2>&1 &", seconds=5.0)
        place = arena.base
        assert len(arena.processes()) > 1

    assert not place.exists()
    assert arena.processes() == []
    assert not Path(f"/proc/{tools.pid}").exists()
