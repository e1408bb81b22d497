"""Servers on the usual ports of this machine."""

import pytest

from tests.models.server import HANG, html, model_server, models
from toolgate.models import discovery


async def test_those_that_answer_with_models_are_found_and_nobody_else(monkeypatch: pytest.MonkeyPatch) -> None:
    async with model_server() as ollama, model_server() as web, model_server() as stuck:
        ollama.on("/v1/models", models("qwen3:8b", "llama3"))
        web.on("/v1/models", html())
        stuck.on("/v1/models", HANG)
        ports = {ollama.port: "Ollama", web.port: "llama.cpp", stuck.port: "vLLM", 1: "LM Studio"}
        monkeypatch.setattr(discovery, "PORTS", ports)
        [found] = await discovery.find_servers()
    assert (found.label, found.base_url, found.models) == ("Ollama", f"{ollama.url}/v1", ("qwen3:8b", "llama3"))


def test_the_usual_ports() -> None:
    assert discovery.PORTS == {11434: "Ollama", 8080: "llama.cpp", 8000: "vLLM", 1234: "LM Studio"}
