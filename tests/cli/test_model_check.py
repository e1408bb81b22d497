"""`toolgate doctor` tries the configured model."""

import json
from collections.abc import Iterator

import pytest

from tests.cli.conftest import Toolgate
from tests.models.server import ModelServer, as_json, html, said, threaded_model_server


@pytest.fixture
def server(monkeypatch: pytest.MonkeyPatch) -> Iterator[ModelServer]:
    """The configured model's server."""
    with threaded_model_server() as made:
        monkeypatch.setenv("TOOLGATE_MODEL_PROVIDER", "openai")
        monkeypatch.setenv("TOOLGATE_MODEL_NAME", "m1")
        monkeypatch.setenv("TOOLGATE_MODEL_BASE_URL", f"{made.url}/v1")
        monkeypatch.setenv("TOOLGATE_MODEL_API_KEY", "sk-doctor-0123456789")
        yield made


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
