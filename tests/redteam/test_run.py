"""The harness of the attacks reports what got through: a harness that cannot fail would prove nothing."""

from collections.abc import Awaitable, Callable

import pytest

from redteam.arena import Arena, expect_question
from redteam.attack import Attack, Broken, Escaped, NotApplicable
from redteam.run import _try

Run = Callable[[Arena], Awaitable[None]]


async def nothing(arena: Arena) -> None:
    await arena.session().bash("true")


async def change_outside(arena: Arena) -> None:
    (arena.outside / "new").write_text("x")


async def remove_outside(arena: Arena) -> None:
    (arena.outside / "secret.txt").unlink()


async def touch_marker(arena: Arena) -> None:
    arena.marker.touch()


async def read_secret(arena: Arena) -> None:
    (arena.root / "copy.txt").write_text(arena.canary)
    await arena.session().call("read_file", path="copy.txt")


async def planted_hook(arena: Arena) -> None:
    arena.repository()
    hook = arena.root / ".git/hooks/pre-commit"
    hook.write_text(f"#!/bin/sh\ntouch {arena.marker}\n")
    hook.chmod(0o755)
    arena.person_git("commit", "-q", "--allow-empty", "-m", "x")


async def unasked(arena: Arena) -> None:
    session = arena.session()
    await session.bash("true")
    expect_question(session, "no question")


async def broken(arena: Arena) -> None:
    raise Broken("it does not work")


async def not_applicable(arena: Arena) -> None:
    raise NotApplicable("not here")


async def raises(arena: Arena) -> None:
    raise RuntimeError("a bug in the attack")


@pytest.mark.parametrize(
    ("run", "verdict"),
    [
        (nothing, "held"),
        (change_outside, "ESCAPE"),
        (remove_outside, "ESCAPE"),
        (touch_marker, "ESCAPE"),
        (read_secret, "ESCAPE"),
        (planted_hook, "ESCAPE"),
        (unasked, "UNASKED"),
        (broken, "BROKEN"),
        (not_applicable, "-"),
        (raises, "ERROR"),
    ],
)
def test_the_verdict_says_what_happened(run: Run, verdict: str) -> None:
    assert _try(Attack("x", "x", "x", ("bwrap",), run), "bwrap")[0] == verdict


def test_a_layer_without_the_promise_is_not_attacked() -> None:
    async def escape(arena: Arena) -> None:
        raise Escaped("it ran")

    assert _try(Attack("x", "x", "x", ("bwrap",), escape), "off")[0] == "-"
