"""Setting up a model: what works is stored and used at once, and what does not is explained and changes nothing."""

import os
import stat
import tomllib
from pathlib import Path

import pytest

from tests.models.server import CLOSE, HANG, Answer, as_json, html, model_server, models, said
from toolgate.errors import ModelError
from toolgate.models import ModelRequest, catalog
from toolgate.models.setup import Choice, offers, set_up, try_out
from toolgate.models.source import ModelSource
from toolgate.protocol.choices import PROVIDERS
from toolgate.settings import ModelSettings, Settings
from toolgate.text.redaction import MARK, mask

KEY = "sk-setup-0123456789abcdef"


def source() -> ModelSource:
    return ModelSource(Settings.defaults().model)


def compatible(url: str, key: str | None = None) -> Choice:
    return Choice(provider="openai_compatible", base_url=url, api_key=key)


def test_the_offers_come_from_the_table_of_providers() -> None:
    listed = {name: row for name, row in PROVIDERS.items() if row.catalog}
    assert {"openai", "anthropic"} <= set(listed)
    assert [(offer["id"], offer["needs_key"]) for offer in offers()] == [
        *((name, True) for name in listed),
        *((f"{name}_compatible", False) for name, row in listed.items() if row.compatible),
    ]


async def test_what_works_is_stored_for_the_owner_alone_and_used_at_once(tmp_path: Path) -> None:
    config = tmp_path / "config" / "toolgate" / "config.toml"
    environ, made = {"XDG_CONFIG_HOME": str(tmp_path / "config")}, source()
    async with model_server() as server:
        server.on("/v1/models", models("small", "large", max_model_len=32_000))
        server.on("/v1/chat/completions", said("Hello"))
        await set_up(compatible(f"{server.url}/v1", KEY), "large", made, environ)
        items = [item async for item in made.default.stream(ModelRequest([{"role": "user", "content": "Hi"}]))]
        await made.aclose()
        assert server.requests[-1][1]["authorization"] == f"Bearer {KEY}"
    assert (items[0], made.default_id, made.is_configured) == ("Hello", "openai:large", True)
    assert tomllib.loads(config.read_text())["model"] == {
        "provider": "openai",
        "name": "large",
        "base_url": f"{server.url}/v1",
        "api_key": KEY,
        "context_tokens": 32_000,
    }
    assert stat.S_IMODE(config.stat().st_mode) == 0o600
    assert mask(f"the key is {KEY}", ()) == f"the key is {MARK}"  # everywhere in this process, from now on
    assert getattr(made.default, "context_tokens", None) == 32_000


async def test_the_rest_of_the_file_stays_and_the_settings_read_it(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    config = tmp_path / "config.toml"
    config.write_text('# mine\n[agent]\nretries = 5\n\n[model]\nname = "old" # a note\ntimeout = 60.0\n\n[shell]\n')
    config.chmod(0o600)
    async with model_server() as server:
        server.on("/v1/models", models("m1"))
        await set_up(compatible(f"{server.url}/v1"), "m1", source(), {"TOOLGATE_CONFIG_FILE": str(config)})
    text = config.read_text()
    assert (text.startswith("# mine\n"), "old" in text, text.count("[model]")) == (True, False, 1)
    monkeypatch.setenv("TOOLGATE_CONFIG_FILE", str(config))
    read = Settings()
    assert (read.agent.retries, read.model.timeout, read.model.name) == (5, 60.0, "m1")


async def test_a_missing_v1_is_found() -> None:
    async with model_server() as server:
        server.on("/v1/models", models("m1"))
        trial = await try_out(compatible(server.url), source())
    assert trial.base_url == f"{server.url}/v1"


@pytest.mark.parametrize(
    ("answer", "words"),
    [
        (html(), "answers with a web page"),
        (html(404), "answers with a web page"),
        (as_json({"hello": "world"}), "does not answer with a list of models"),
        ((200, "application/json", b"{nonsense"), "does not answer with a list of models"),
        ((200, "text/plain", b"\xff\xfe"), "does not answer with a list of models"),
        (models(), "it has no models"),
        (as_json({"error": {"message": "Incorrect API key provided"}}, 401), "refused the key"),
        (as_json({"error": {"message": "down"}}, 503), "failed (503)"),
        ((302, "text/plain", b""), "another address"),
        (CLOSE, "cannot be reached, or the connection broke"),
        (HANG, "did not answer in time"),
    ],
)
async def test_servers_that_answer_nonsense_are_named_and_nothing_is_stored(
    tmp_path: Path, answer: Answer, words: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(catalog, "SECONDS", 1.0)
    monkeypatch.setattr(catalog.list_models, "__kwdefaults__", {"seconds": 1.0, "local": False})
    made = source()
    async with model_server() as server:
        server.on("/v1/models", answer)
        with pytest.raises(ModelError) as caught:
            await set_up(compatible(f"{server.url}/v1", KEY), "m1", made, {"XDG_CONFIG_HOME": str(tmp_path)})
    assert words in caught.value.message
    assert KEY not in caught.value.message
    assert (os.listdir(tmp_path), made.is_configured) == ([], False)


async def test_nobody_at_the_port(tmp_path: Path) -> None:
    with pytest.raises(ModelError, match=r"http://127\.0\.0\.1:1/v1 cannot be reached.*port"):
        await try_out(compatible("http://127.0.0.1:1/v1"), source())


@pytest.mark.parametrize(
    ("choice", "words"),
    [
        (Choice(provider="nobody"), "There is no provider"),
        (Choice(provider="openai_compatible"), "address of the server is missing"),
        (Choice(provider="openai"), "needs a key"),
        (compatible("ftp://x"), "is not an address"),
        (compatible("http://"), "is not an address"),
        (compatible("http://a b/v1"), "is not an address"),
        (compatible("http://user:pass@127.0.0.1/v1"), "must not have a user"),
        (compatible("http://127.0.0.1/v1", "sk with spaces inside"), "characters that no key has"),
    ],
)
async def test_what_makes_no_sense_is_refused_before_anybody_is_asked(choice: Choice, words: str) -> None:
    with pytest.raises(ModelError) as caught:
        await try_out(choice, source())
    assert words in caught.value.message


async def test_a_model_that_the_server_does_not_have(tmp_path: Path) -> None:
    async with model_server() as server:
        server.on("/v1/models", models("m1", "m2"))
        with pytest.raises(ModelError, match=r"There is no model 'm3'.*m1, m2"):
            await set_up(compatible(f"{server.url}/v1"), "m3", source(), {"XDG_CONFIG_HOME": str(tmp_path)})
    assert os.listdir(tmp_path) == []


async def test_what_the_environment_says_would_win(tmp_path: Path) -> None:
    environ = {"XDG_CONFIG_HOME": str(tmp_path), "TOOLGATE_MODEL_NAME": "x"}
    with pytest.raises(ModelError, match="TOOLGATE_MODEL_NAME in the environment would win"):
        await set_up(compatible("http://127.0.0.1:1/v1"), "m", source(), environ)


async def test_a_known_key_goes_to_no_other_server() -> None:
    async with model_server() as server:
        server.on("/v1/models", models("m1"))
        known = ModelSettings.of({"provider": "openai", "base_url": f"{server.url}/v1", "api_key": KEY})
        await try_out(compatible(f"{server.url}/v1"), ModelSource(known))
        other = ModelSettings.of({"provider": "openai", "base_url": "http://127.0.0.1:9/v1", "api_key": KEY})
        await try_out(compatible(f"{server.url}/v1"), ModelSource(other))
    assert [headers.get("authorization") for _, headers, _ in server.requests] == [f"Bearer {KEY}", None]
