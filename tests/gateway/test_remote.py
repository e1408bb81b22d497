"""Several gateways on one database: sessions move between them, and what happens reaches every client."""

import asyncio
import contextlib
import signal
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from tests.gateway.kit import PATIENCE, TOKEN, Client, Gateway, is_done, is_type, serving, text_of, types
from tests.support.databases import postgres_server, prepared

KINDS = ["sqlite", pytest.param("postgres", marks=pytest.mark.postgres)]


@pytest.fixture(scope="module")
def server() -> Iterator[str]:
    with postgres_server() as url:
        yield prepared(url)


@contextlib.contextmanager
def pair(kind: str, request: pytest.FixtureRequest, folder: Path) -> Iterator[tuple[Any, Any]]:
    """Two gateways, each a process of its own, as (process, gateway)."""
    url = request.getfixturevalue("server") if kind == "postgres" else f"sqlite:///{folder}/both.db"
    environ = {
        "TOOLGATE_DATABASE_URL": url,
        "TOOLGATE_GATEWAY_TOKEN": TOKEN,
        "TOOLGATE_AGENT_LEASE_SECONDS": "4",
        "SESSION_CODING_ENABLED": "true",
    }
    with contextlib.ExitStack() as stack:
        found = []
        for name in ("one", "two"):
            process, port, _ = stack.enter_context(serving(folder, name=name, **environ))
            found.append((process, Gateway(None, port)))  # type: ignore[arg-type]
        yield found[0], found[1]


@pytest.fixture(scope="module", params=KINDS)
def place(request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory) -> Iterator[tuple[Any, Path]]:
    """Two gateways, and the directory that they work in."""
    folder = tmp_path_factory.mktemp("several")
    with pair(request.param, request, folder) as both:
        yield both, folder


@pytest.fixture
def two(place: tuple[Any, Path]) -> Any:
    return place[0]


@contextlib.asynccontextmanager
async def clients(two: Any) -> Any:
    async with two[0][1].client() as one, two[1][1].client() as other:
        yield one, other


async def test_what_happens_at_one_gateway_is_seen_at_the_other(two: Any) -> None:
    async with clients(two) as (one, other):
        session = await one.session("coding")
        await other.data("session.subscribe", session_id=session)
        frames = await one.turn(session, "current_time")
        seen = await other.until(is_done)
        assert [frame for frame in seen if "seq" in frame] == [frame for frame in frames if "seq" in frame]
        assert "tool_result" in types(seen)
        assert text_of(seen) == text_of(frames)
        assert await other.silent(0.1)
        answered = await other.turn(session, "current_time")
        assert is_done(answered[-1])


async def test_a_question_is_answered_at_the_other_gateway(place: tuple[Any, Path]) -> None:
    two, folder = place
    async with clients(two) as (one, other):
        session = await one.session("coding")
        await other.data("session.subscribe", session_id=session)
        await one.send("chat.send", session_id=session, content="write_file path=new.txt content=hello")
        question = (await other.until(is_type("approval_request")))[-1]["data"]
        await other.data("approval.respond", id=question["id"], allowed=True)
        await one.until(is_done)
        assert (folder / "root/new.txt").read_text() == "hello"


async def test_a_turn_of_one_gateway_is_busy_for_the_other_and_can_be_ended_there(two: Any) -> None:
    async with clients(two) as (one, other):
        session = await one.session("coding")
        await one.send("chat.send", session_id=session, content="Bash sleep 60")
        await one.until(is_type("tool_call"))
        frame = await other.ask("chat.send", session_id=session, content="current_time")
        assert (frame["type"], frame["data"]["code"]) == ("error", "SESSION_BUSY")
        assert (await other.data("chat.cancel", session_id=session))["cancelled"] is True
        frames = await one.until(is_done)
        assert frames[0]["data"]["code"] == "CANCELLED"


@pytest.mark.parametrize("kind", KINDS)
async def test_a_gateway_that_is_killed_in_a_turn_is_noticed_and_the_session_goes_on(
    kind: str, request: pytest.FixtureRequest, tmp_path: Path
) -> None:
    with pair(kind, request, tmp_path) as ((process, first), (_, second)):
        await _killed(process, first, second, tmp_path / "root/started")


async def _killed(process: Any, first: Gateway, second: Gateway, started: Path) -> None:
    async with second.client() as other:
        async with first.client() as one:
            session = await one.session("coding")
            await other.data("session.subscribe", session_id=session)
            await one.send("chat.send", session_id=session, content="Bash touch started; sleep 60")
            await one.until(is_type("tool_call"))
            await other.until(is_type("tool_call"))
            async with asyncio.timeout(PATIENCE):
                while not started.exists():
                    await asyncio.sleep(0.05)
            process.send_signal(signal.SIGKILL)
        frames = await _patiently(other)
        assert types(frames)[-3:] == ["tool_result", "error", "stream_chunk"]
        assert (frames[-3]["data"]["status"], frames[-2]["data"]["code"]) == ("error", "INTERNAL_ERROR")
        again = await other.turn(session, "current_time")
        assert "tool_result" in types(again)
        assert sum(map(is_done, again)) == 1


async def _patiently(client: Client) -> list[dict[str, Any]]:
    """The frames up to the end of the turn, once the lease of the dead has run out."""
    async with asyncio.timeout(2 * PATIENCE):
        return await client.until(is_done)
