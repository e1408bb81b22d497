"""Which model is taken."""

import subprocess
import sys

import pytest
from pydantic import SecretStr

from toolgate.errors import ModelError
from toolgate.models import AnthropicModel, OfflineModel, OpenAIModel, choose_model
from toolgate.models.selection import model_settings
from toolgate.settings import ModelSettings, Settings

NONE = Settings.defaults().model
BOTH = {"OPENAI_API_KEY": "o-key", "ANTHROPIC_API_KEY": "a-key"}


@pytest.mark.parametrize(
    ("name", "environ", "kind", "model"),
    [
        (None, {}, OfflineModel, "offline"),
        (None, {"OPENAI_API_KEY": ""}, OfflineModel, "offline"),
        (None, {"OPENAI_API_KEY": "k"}, OpenAIModel, "gpt-5.5"),
        (None, {"OPENAI_BASE_URL": "http://127.0.0.1:1"}, OpenAIModel, "gpt-5.5"),
        (None, {"ANTHROPIC_API_KEY": "k"}, AnthropicModel, "claude-sonnet-5-5"),
        (None, BOTH, OpenAIModel, "gpt-5.5"),
        ("offline", BOTH, OfflineModel, "offline"),
        ("claude-x", BOTH, AnthropicModel, "claude-x"),
        ("gpt-x", BOTH, OpenAIModel, "gpt-x"),
        ("openai:claude-x", BOTH, OpenAIModel, "claude-x"),
        ("anthropic:own", BOTH, AnthropicModel, "own"),
        ("anthropic:", BOTH, AnthropicModel, "claude-sonnet-5-5"),
        ("llama3:8b", BOTH, OpenAIModel, "llama3:8b"),
    ],
)
def test_the_name_then_the_environment(name: str | None, environ: dict[str, str], kind: type, model: str) -> None:
    chosen = choose_model(name, environ=environ)
    assert (type(chosen), getattr(chosen, "name", None)) == (kind, model)


def test_settings_come_before_keys_in_the_environment() -> None:
    settings = ModelSettings(provider="anthropic", name="m", api_key=SecretStr("s-key"))
    assert model_settings(None, settings, BOTH) == settings


def test_the_key_of_the_environment_becomes_a_secret_of_the_settings() -> None:
    made = model_settings(None, NONE, {"OPENAI_API_KEY": "o-key", "OPENAI_BASE_URL": "http://here/v1"})
    assert (made.provider, made.base_url, made.api_key) == ("openai", "http://here/v1", SecretStr("o-key"))


@pytest.mark.parametrize(("name", "variable"), [("gpt-x", "OPENAI_API_KEY"), ("claude-x", "ANTHROPIC_API_KEY")])
def test_a_model_without_a_key_says_what_to_set(name: str, variable: str) -> None:
    with pytest.raises(ModelError, match=variable):
        choose_model(name)


def test_no_sdk_is_loaded_before_it_is_used() -> None:
    code = (
        "import sys, toolgate.models as m; m.OpenAIModel(api_key='k'); m.AnthropicModel(api_key='k');"
        "print(sorted({'openai', 'anthropic', 'httpx2'} & set(sys.modules)))"
    )
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert done.stdout == "[]\n"
