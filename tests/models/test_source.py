"""The default model and others by name, which can be replaced while turns run."""

import pytest

from tests.models.server import as_json, model_server, models
from toolgate.errors import ModelError
from toolgate.models.source import ModelSource
from toolgate.settings import ModelSettings, Settings
from toolgate.testing import ScriptedModel


def test_a_given_model_is_the_default_and_is_found_by_its_name() -> None:
    model = ScriptedModel([])
    source = ModelSource(Settings.defaults().model, model)
    assert (source.default, source.find(None), source.find("scripted"), source.default_id) == (
        model,
        model,
        model,
        "scripted",
    )


def test_a_model_without_a_key_cannot_be_found() -> None:
    with pytest.raises(ModelError, match="needs a key"):
        ModelSource(Settings.defaults().model).find("openai:gpt-5.5")


def test_the_key_of_one_provider_never_goes_to_another() -> None:
    known = ModelSettings.of({"provider": "openai", "base_url": "http://127.0.0.1:9/v1", "api_key": "key-of-openai"})
    with pytest.raises(ModelError, match="ANTHROPIC_API_KEY"):
        ModelSource(known).find("anthropic:claude-x")


def test_turns_that_run_keep_their_model() -> None:
    source = ModelSource(Settings.defaults().model)
    before = source.default
    source.configure(ModelSettings.of({"provider": "openai", "name": "m2", "base_url": "http://127.0.0.1:9/v1"}))
    assert (getattr(before, "name", ""), source.default_name, source.default_id) == ("offline", "m2", "openai:m2")


async def test_the_catalog_lists_the_servers_models_and_asks_once() -> None:
    async with model_server() as server:
        server.on("/v1/models", models("m1", "llava"), as_json({}, 500))
        source = ModelSource(
            ModelSettings.of({"provider": "openai", "name": "m1", "base_url": f"{server.url}/v1", "api_key": "none"})
        )
        first, second = await source.catalog(), await source.catalog()
    assert first == second
    assert [(provider, info.name, info.vision) for provider, info in first[0]] == [
        ("openai", "m1", False),
        ("openai", "llava", True),
    ]


async def test_a_server_that_is_away_leaves_the_default_and_a_reason() -> None:
    away = ModelSettings.of({"provider": "openai", "name": "m1", "base_url": "http://127.0.0.1:1/v1"})
    found, problem = await ModelSource(away).catalog()
    assert [info.name for _, info in found] == ["m1"]
    assert "http://127.0.0.1:1/v1 cannot be reached" in problem
