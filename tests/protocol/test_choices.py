"""The tables of choices: everything that names a provider, a sandbox layer or a truncation reads them."""

import argparse
import re
from pathlib import Path

import pytest
from pydantic import SecretStr, ValidationError

import toolgate
from toolgate.cli.parser import add_model
from toolgate.models import ModelClient, choose_model, model_from_settings
from toolgate.protocol.choices import LAYERS, PROVIDERS, TRUNCATIONS, load
from toolgate.sandbox import choose_layer
from toolgate.settings import ModelSettings, Settings, ShellSettings, ToolOutputSettings
from toolgate.text.redaction import secrets_of

SOURCE = Path(toolgate.__file__).parent
IMPLEMENTATIONS = [
    *(provider.client for provider in PROVIDERS.values()),
    *(layer.find for layer in LAYERS.values()),
    *(layer.examine for layer in LAYERS.values() if layer.examine),
    *(truncation.cut for truncation in TRUNCATIONS.values()),
]
KEYS = [(name, provider.key) for name, provider in PROVIDERS.items() if provider.key]


@pytest.mark.parametrize("implementation", IMPLEMENTATIONS)
def test_every_implementation_exists(implementation: str) -> None:
    assert callable(load(implementation))


def test_settings_take_what_the_tables_list_and_nothing_else() -> None:
    for name in PROVIDERS:
        assert ModelSettings.of({"provider": name}).provider == name
    for name in ("auto", *LAYERS):
        assert ShellSettings.of({"sandbox": name}).sandbox == name
    for name in TRUNCATIONS:
        assert ToolOutputSettings.of({"direction": name}).direction == name
    with pytest.raises(ValidationError, match="Input should be 'offline', 'openai'"):
        ModelSettings.of({"provider": "oracle"})
    with pytest.raises(ValidationError, match="Input should be 'auto', 'bwrap', 'landlock'"):
        ShellSettings.of({"sandbox": "none"})


@pytest.mark.parametrize("name", PROVIDERS)
def test_every_provider_is_chosen_by_its_name(name: str) -> None:
    provider = PROVIDERS[name]
    client = choose_model(f"{name}:some-model" if provider.key else name, environ={provider.key: "a-key"})
    assert isinstance(client, load(provider.client))
    assert isinstance(client, ModelClient)
    assert getattr(client, "name", None) == ("some-model" if provider.key else name)


@pytest.mark.parametrize(("name", "key"), KEYS)
def test_every_provider_is_chosen_by_its_key_and_takes_its_settings(name: str, key: str) -> None:
    client = load(PROVIDERS[name].client)
    assert isinstance(choose_model(environ={key: "a-key"}), client)
    values = {"provider": name, "name": "m", "api_key": SecretStr("k"), "base_url": "http://localhost:1/v1"}
    assert isinstance(model_from_settings(ModelSettings.of(values)), client)


@pytest.mark.parametrize(("name", "key"), KEYS)
def test_the_key_of_every_provider_is_masked(name: str, key: str, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv(key, f"secret-of-{name}")
    assert f"secret-of-{name}" in secrets_of(Settings.defaults())


def test_the_help_of_the_command_line_lists_every_provider() -> None:
    parser = argparse.ArgumentParser()
    add_model(parser)
    shown = " ".join(parser.format_help().split())
    assert "offline, openai:NAME" in shown
    assert "claude… is Anthropic's" in shown
    assert [name for name, _ in KEYS if f"{name}:NAME" not in shown] == []


def test_a_layer_that_does_not_work_is_named_in_the_refusal(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("toolgate.sandbox.bubblewrap.find_bubblewrap", lambda *_: None)
    with pytest.raises(toolgate.ToolError, match="bubblewrap does not work on this machine"):
        choose_layer("bwrap")


@pytest.mark.parametrize("name", [*(name for name, _ in KEYS), *(layer for layer in LAYERS if layer != "off")])
def test_no_other_module_names_a_provider_or_a_layer(name: str) -> None:
    own = re.compile(rf"^(protocol/choices|models/{name}|adapters/.*|sandbox/.*|command/.*|process/executables)\b")
    modules = [path.relative_to(SOURCE).as_posix() for path in SOURCE.rglob("*.py") if f'"{name}"' in path.read_text()]
    assert [module for module in modules if not own.match(module)] == []
