"""`toolgate doctor` tries the configured model."""

import asyncio
import json
import threading
from collections.abc import Iterator

import pytest

from tests.cli.conftest import Toolgate
from tests.models.server import ModelServer, as_json, html, model_server, said


@pytest.fixture
def server(monkeypatch: pytest.MonkeyPatch) -> Iterator[ModelServer]:
    """A model server in a thread of its own: the program under test has its own loop."""
    ready, made, stop = threading.Event(), list[ModelServer](), list[asyncio.Event]()
    loops: list[asyncio.AbstractEventLoop] = []

    async def serve() -> None:
        async with model_server() as started:
            made.append(started)
            stop.append(asyncio.Event())
            loops.append(asyncio.get_running_loop())
            ready.set()
            await stop[0].wait()

    thread = threading.Thread(target=lambda: asyncio.run(serve()))
    thread.start()
    assert ready.wait(10)
    monkeypatch.setenv("TOOLGATE_MODEL_PROVIDER", "openai")
    monkeypatch.setenv("TOOLGATE_MODEL_NAME", "m1")
    monkeypatch.setenv("TOOLGATE_MODEL_BASE_URL", f"{made[0].url}/v1")
    monkeypatch.setenv("TOOLGATE_MODEL_API_KEY", "sk-doctor-0123456789")
    yield made[0]
    loops[0].call_soon_threadsafe(stop[0].set)
    thread.join(10)


def check(toolgate: Toolgate) -> tuple[int, dict[str, str]]:
    code, out, _ = toolgate("doctor", "--json")
    return code, next(found for found in json.loads(out) if found["name"] == "model")


def test_a_model_that_answers(toolgate: Toolgate, server: ModelServer) -> None:
    server.on("/v1/chat/completions", said("OK"))
    code, found = check(toolgate)
    assert (code, found["state"], found["finding"].startswith(f"m1 at {server.url}/v1 answers")) == (0, "ok", True)


def test_a_key_that_is_refused_is_said_and_not_shown(toolgate: Toolgate, server: ModelServer) -> None:
    server.on("/v1/chat/completions", as_json({"error": {"message": "bad key sk-doctor-0123456789"}}, 401))
    code, found = check(toolgate)
    assert (code, found["state"], "MODEL_AUTH" in found["finding"]) == (1, "broken", True)
    assert "sk-doctor" not in str(found)


def test_a_web_page_is_named_with_the_likely_mistake(
    toolgate: Toolgate, server: ModelServer, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("TOOLGATE_MODEL_BASE_URL", server.url)
    server.on("/chat/completions", html())
    _, found = check(toolgate)
    assert "answers with a web page" in found["finding"]
    assert f"try {server.url}/v1" in found["advice"]


def test_without_a_model_it_says_how_to_set_one_up(toolgate: Toolgate) -> None:
    code, found = check(toolgate)
    assert (code, found["state"], "/model" in found["advice"]) == (0, "missing", True)
