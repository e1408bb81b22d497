"""Models in the chat at a real terminal: setting one up, choosing one, retries, summaries, and what is always shown."""

import json
import os
import stat
import tomllib
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest

from tests.cli.terminal import Terminal
from tests.models.server import ModelServer, as_json, html, models, said, threaded_model_server

KEY = "sk-chat-0123456789abcdef"
LONG = "word " * 900
Chat = Callable[..., Terminal]


@pytest.fixture
def server() -> Iterator[ModelServer]:
    with threaded_model_server() as made:
        made.on("/v1/models", models("m1", "m2"))
        made.on("/v1/chat/completions", said("Hello there."))
        yield made


@pytest.fixture
def chat(project: Path, tmp_path: Path, server: ModelServer) -> Iterator[Chat]:
    begun: list[Terminal] = []

    def begin(*words: str, configured: bool = True, **more: str) -> Terminal:
        environment = {"XDG_DATA_HOME": str(tmp_path / "data"), "XDG_CONFIG_HOME": str(tmp_path / "config"), **more}
        if configured:
            environment |= {"OPENAI_BASE_URL": f"{server.url}/v1", "OPENAI_API_KEY": "sk-environment-0123"}
            words = ("--model", "m1", *words)
        terminal = Terminal(["chat", *words], project, environment, 120)
        begun.append(terminal)
        terminal.until("❯ ")
        return terminal

    yield begin
    for terminal in begun:
        terminal.close()


def answer(terminal: Terminal, question: str, text: str) -> None:
    terminal.until(question)
    terminal.until(")")
    terminal.press(f"{text}\r")


def setting_up(terminal: Terminal, address: str) -> None:
    terminal.type("/model\r")
    shown = terminal.until("Another server (OpenAI-compatible)")
    number = shown.rstrip().splitlines()[-1].split()[0]
    answer(terminal, "Whose model?", number)
    answer(terminal, "Its address?", address)
    answer(terminal, "The key", KEY)


def test_without_a_key_a_model_is_set_up_in_the_chat_and_answers_at_once(
    chat: Chat, server: ModelServer, tmp_path: Path
) -> None:
    terminal = chat(configured=False)
    assert "/model sets one up now" in terminal.text
    setting_up(terminal, f"{server.url}")
    answer(terminal, "Which model?", "2")
    terminal.until("m2 is set up")
    terminal.until("❯ ")
    terminal.type("Hi\r")
    terminal.until("Hello there.")
    assert KEY not in terminal.raw
    path, headers, body = server.requests[-1]
    assert (path, headers["authorization"], body["model"]) == ("/v1/chat/completions", f"Bearer {KEY}", "m2")
    stored = tmp_path / "config" / "toolgate" / "config.toml"
    assert tomllib.loads(stored.read_text())["model"]["name"] == "m2"
    assert stat.S_IMODE(stored.stat().st_mode) == 0o600


def test_a_server_that_is_none_is_explained_and_nothing_is_stored(
    chat: Chat, server: ModelServer, tmp_path: Path
) -> None:
    server.on("/v1/models", html())
    terminal = chat(configured=False)
    setting_up(terminal, f"{server.url}/v1")
    terminal.until("answers with a web page, not with JSON")
    terminal.until("❯ ")
    assert not os.path.exists(tmp_path / "config" / "toolgate" / "config.toml")


def test_the_model_of_the_session_changes_with_the_next_message(chat: Chat, server: ModelServer) -> None:
    terminal = chat()
    terminal.type("/model\r")
    assert "openai:m1  ← this session" in terminal.until("/model setup")
    terminal.until("❯ ")
    terminal.type("/model 2\r")
    terminal.until("goes to m2")
    terminal.until("❯ ")
    terminal.type("Hi\r")
    terminal.until("Hello there.")
    assert server.requests[-1][2]["model"] == "m2"
    terminal.until("❯ ")
    terminal.type("/model anthropic:claude-x\r")
    terminal.until("needs a key")


def test_a_retry_is_said_with_its_reason_and_number(chat: Chat, server: ModelServer) -> None:
    busy = as_json({"error": {"message": "slow down"}}, 429)
    server.on("/v1/chat/completions", busy, said("Hello there."))
    terminal = chat()
    terminal.type("Hi\r")
    terminal.until("rate-limited, retrying in")
    assert "(1 of 3)" in terminal.until("Hello there.")


def test_an_empty_account_is_not_tried_again_and_has_its_advice(chat: Chat, server: ModelServer) -> None:
    broke = {"message": "You exceeded your current quota", "code": "insufficient_quota"}
    server.on("/v1/chat/completions", as_json({"error": broke}, 429))
    terminal = chat()
    terminal.type("Hi\r")
    terminal.until("MODEL_QUOTA")
    terminal.until("choose another model")
    assert len(server.requests) == 1


def test_a_conversation_is_summarised_and_the_summary_is_shown_and_taken_back(chat: Chat, server: ModelServer) -> None:
    server.on("/v1/chat/completions", said(LONG), said("We greeted each other."))
    terminal = chat()
    terminal.type("/compact\r")
    terminal.until("nothing to summarise yet")
    terminal.until("❯ ")
    terminal.type("Hi\r")
    terminal.until("context ")
    terminal.until("❯ ")
    terminal.type("/compact\r")
    terminal.until("the model has summarised the earlier part")
    terminal.until("We greeted each other.")
    terminal.until("❯ ")
    terminal.type("/compact undo\r")
    terminal.until("reads the original messages again")


def test_the_bell_rings_when_the_person_is_waited_for(chat: Chat, server: ModelServer) -> None:
    call = {"index": 0, "id": "c1", "type": "function", "function": {"name": "Bash", "arguments": '{"command":"rm x"}'}}
    chunks = [
        {"choices": [{"index": 0, "delta": {"tool_calls": [call]}}]},
        {"choices": [{"finish_reason": "tool_calls"}]},
    ]
    text = "".join(f"data: {json.dumps(chunk)}\n\n" for chunk in chunks) + "data: [DONE]\n\n"
    server.on("/v1/chat/completions", (200, "text/event-stream", text.encode()))
    terminal = chat("--coding")
    terminal.type("Hi\r")
    terminal.until("rm x")
    terminal.until("allow")
    assert "\a" in terminal.raw
