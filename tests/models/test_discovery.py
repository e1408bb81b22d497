"""Servers on the usual ports of this machine."""

import pytest

from tests.models.server import HANG, html, model_server, models
from toolgate.models import discovery


async def test_those_that_answer_with_models_are_found_and_nobody_else(monkeypatch: pytest.MonkeyPatch) -> None:
    async with model_server() as ollama, model_server() as web:
        ollama.on("/v1/models", models("qwen3:8b", "llama3"))
        web.on("/v1/models", html())
        monkeypatch.setattr(discovery, "PORTS", {ollama.port: "Ollama", web.port: "llama.cpp", 1: "LM Studio"})
        monkeypatch.setattr(discovery, "SECONDS", 60.0)
        [found] = await discovery.find_servers()
    assert (found.label, found.base_url, found.models) == ("Ollama", f"{ollama.url}/v1", ("qwen3:8b", "llama3"))


async def test_one_that_does_not_answer_is_not_waited_for(monkeypatch: pytest.MonkeyPatch) -> None:
    async with model_server() as stuck:
        stuck.on("/v1/models", HANG)
        monkeypatch.setattr(discovery, "PORTS", {stuck.port: "vLLM"})
        monkeypatch.setattr(discovery, "SECONDS", 0.1)
        assert await discovery.find_servers() == []


def test_the_usual_ports() -> None:
    assert discovery.PORTS == {11434: "Ollama", 8080: "llama.cpp", 8000: "vLLM", 1234: "LM Studio"}
