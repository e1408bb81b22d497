"""`SdkConnection`: the provider's SDK makes the connection where a key and an address are not all."""

import asyncio
from collections.abc import AsyncIterator

import pytest

from tests.models.conftest import Provider
from tests.models.kit import HELLO, SDK_VARIABLES, Setting
from toolgate.errors import ModelError
from toolgate.models import OpenAIModel
from toolgate.models.http_client import HttpClient
from toolgate.models.sdk_connection import SdkConnection


@pytest.fixture(params=["openai", "anthropic"])
async def setting(request: pytest.FixtureRequest, provider: Provider) -> AsyncIterator[Setting]:
    made = Setting(request.param, provider)
    yield made
    await made.model.aclose()


async def kind(setting: Setting) -> type[object]:
    """Who makes the connection, after one answer."""
    setting.sends([setting.events.text("Hello") + setting.events.end()])
    items = [item async for item in setting.model.stream(HELLO)]
    assert items[0] == "Hello"
    return type(setting.model._connection)


async def test_a_key_and_an_address_need_no_sdk(setting: Setting) -> None:
    assert await kind(setting) is HttpClient


async def test_a_variable_that_only_the_sdk_knows_needs_it(setting: Setting, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv(SDK_VARIABLES[setting.name], "x-test: 1")
    assert await kind(setting) is SdkConnection
    sent = setting.provider.headers[-1]
    assert sent.get("openai-organization", sent.get("x-test")) in ("x-test: 1", "1")


async def test_a_proxy_is_used(setting: Setting, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("HTTP_PROXY", setting.provider.url)
    setting.provider.url = "http://model.invalid"
    setting.model = setting.client(timeout=60)
    assert await kind(setting) is SdkConnection
    assert setting.provider.headers[-1]["host"] == "model.invalid"


async def test_without_a_key_the_sdk_looks_for_one(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delenv("OPENAI_API_KEY", raising=False)
    with pytest.raises(ModelError, match="OPENAI_API_KEY"):
        async with asyncio.timeout(30):
            [item async for item in OpenAIModel(base_url="http://127.0.0.1:1").stream(HELLO)]
