"""Setting up a model on the page: a server that is found, a key that works or not, and the picker."""

from pathlib import Path

import pytest
from playwright.async_api import BrowserContext, expect

from tests.browser.kit import PATIENCE, Gateway, arrive, script
from tests.models.server import as_json, model_server, models, said
from toolgate.models import discovery

KEY = "sk-page-0123456789abcdef"


@pytest.fixture(autouse=True)
def config(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.setenv("XDG_CONFIG_HOME", str(tmp_path / "config"))
    monkeypatch.setattr(discovery, "PORTS", {})
    for name in ("OPENAI_API_KEY", "OPENAI_BASE_URL", "ANTHROPIC_API_KEY"):
        monkeypatch.delenv(name, raising=False)
    return tmp_path / "config" / "toolgate" / "config.toml"


@pytest.fixture
def unconfigured(gateway: Gateway) -> Gateway:
    """A gateway that chooses its model by its settings, and finds none."""
    gateway.stop()
    gateway.model = None  # type: ignore[assignment]
    gateway.start()
    return gateway


async def test_a_key_is_tested_and_stored_and_the_model_answers_at_once(
    context: BrowserContext, unconfigured: Gateway, config: Path
) -> None:
    async with model_server() as server:
        server.on("/v1/models", as_json({"error": {"message": "bad key"}}, 401))
        server.on("/v1/chat/completions", said("Hello from m2."))
        person = await arrive(context, unconfigured)
        page = person.page
        await page.locator("tg-empty").get_by_role("button", name="Set up a model").click()
        dialog = page.get_by_role("dialog", name="Set up a model")
        await dialog.get_by_role("radio", name="OpenAI-compatible").check()
        await dialog.get_by_role("textbox", name="Address").fill(f"{server.url}/v1")
        await dialog.get_by_role("textbox", name="Key").fill(KEY)
        await page.keyboard.press("Enter")
        await expect(dialog.locator(".problem strong")).to_be_visible()
        await person.picture("setup-wrong")
        assert not config.exists()
        server.on("/v1/models", models("m1", "m2"))
        await dialog.get_by_role("button", name="Test and list models").click()
        await dialog.get_by_role("combobox", name="Model").select_option("m2")
        await person.picture("setup")
        assert await page.evaluate(script("contrast.js")) == []
        assert await page.evaluate(script("nameless.js")) == []
        await dialog.get_by_role("button", name="Use this model").click()
        await expect(dialog).to_have_count(0)
        assert config.stat().st_mode & 0o777 == 0o600
        picker = page.get_by_role("button", name="Model: m2", exact=True)
        await expect(picker).to_be_visible()
        assert KEY not in await page.content()
        await person.begin("chat_safe")
        await person.say("Hello")
        await expect(person.said("Hello from m2.")).to_be_visible()
        await person.idle()
        await picker.click()
        await page.get_by_role("menuitemradio", name="m1").click()
        await expect(page.get_by_role("button", name="Model: m1", exact=True)).to_be_visible()
        await person.say("And again")
        await expect(person.said("Hello from m2.")).to_have_count(2)
        assert server.requests[-1][2]["model"] == "m1"
        assert person.problems == []


async def test_a_server_of_this_machine_is_offered_first(
    context: BrowserContext, unconfigured: Gateway, monkeypatch: pytest.MonkeyPatch
) -> None:
    async with model_server() as server:
        server.on("/v1/models", models("qwen"))
        monkeypatch.setattr(discovery, "PORTS", {server.port: "Ollama"})
        monkeypatch.setattr(discovery, "SECONDS", PATIENCE / 1000)
        person = await arrive(context, unconfigured)
        await person.page.locator("tg-empty").get_by_role("button", name="Set up a model").click()
        dialog = person.page.get_by_role("dialog", name="Set up a model")
        await dialog.get_by_role("radio", name="Ollama Found").check()
        await expect(dialog.get_by_role("combobox", name="Model")).to_have_value("qwen")
        await person.page.keyboard.press("Escape")
        await expect(dialog).to_have_count(0)
