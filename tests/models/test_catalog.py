"""Lists of models, as servers write them."""

import sys
from typing import Any

import pytest

from tests.models.server import as_json, model_server
from toolgate.errors import ModelError
from toolgate.models.catalog import CatalogEndpoint, ModelInfo, list_models
from toolgate.models.openai import listing


@pytest.mark.parametrize(
    ("row", "expected"),
    [
        ({"id": "m", "max_model_len": 4096}, ModelInfo(name="m", label="m", context_tokens=4096)),
        ({"id": "m", "meta": {"n_ctx": 8192}}, ModelInfo(name="m", label="m", context_tokens=8192)),
        (
            {"id": "claude-x", "display_name": "Claude X", "max_input_tokens": 200_000},
            ModelInfo(name="claude-x", label="Claude X", context_tokens=200_000, vision=True),
        ),
        ({"id": "m", "type": "vlm"}, ModelInfo(name="m", label="m", vision=True)),
        ({"id": "m", "max_model_len": "many"}, ModelInfo(name="m", label="m")),
    ],
)
async def test_what_servers_say_about_a_model(row: dict[str, Any], expected: ModelInfo) -> None:
    async with model_server() as server:
        server.on("/models", as_json({"data": [row, "nonsense", {"id": 7}, {"id": "a\u202eb"}]}))
        assert await list_models(CatalogEndpoint(url=f"{server.url}/models"), server.url) == [expected]


def test_what_openai_lists_and_does_not_chat_is_left_out_only_there() -> None:
    assert listing("https://api.openai.com/v1", "k").exclude
    assert not listing("http://127.0.0.1:1/v1", None).exclude


async def test_the_list_needs_no_package(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "httpx2", None)
    async with model_server() as server:
        server.on("/models", as_json({"data": [{"id": "m"}]}))
        (found,) = await list_models(CatalogEndpoint(url=f"{server.url}/models?limit=2"), server.url)
        assert found.name == "m"


async def test_through_a_proxy_the_list_says_which_package_it_needs(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "httpx2", None)
    monkeypatch.setenv("HTTP_PROXY", "http://127.0.0.1:1")
    with pytest.raises(ModelError, match=r"'httpx2' is not installed: pip install 'toolgate\[openai\]'"):
        await list_models(CatalogEndpoint(url="http://127.0.0.1:1/models"), "http://127.0.0.1:1")


@pytest.mark.parametrize("proxy", ["", "http://127.0.0.1:1"])
async def test_a_key_with_a_line_break_is_never_sent(monkeypatch: pytest.MonkeyPatch, proxy: str) -> None:
    monkeypatch.setenv("HTTP_PROXY", proxy)
    async with model_server() as server:
        with pytest.raises(ModelError):
            await list_models(listing(server.url, "k\r\nx-other: 1"), server.url)
        assert server.requests == []
