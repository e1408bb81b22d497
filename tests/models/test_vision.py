"""Whether a model looks at pictures: the setting, the server's list, the name, in this order."""

import pytest

from toolgate.models import AnthropicModel, OpenAIModel
from toolgate.models.catalog import ModelInfo
from toolgate.models.masked import MaskedModel
from toolgate.models.source import ModelSource
from toolgate.models.vision import entry_implies_vision, name_implies_vision
from toolgate.settings import Settings
from toolgate.testing import ScriptedModel


@pytest.mark.parametrize(
    ("name", "sees"),
    [
        ("claude-sonnet-5-5", True),
        ("gpt-5.5", True),
        ("qwen/qwen2.5-vl-7b", True),
        ("llama3.2-vision", True),
        ("gpt-3.5-turbo", False),
        ("deepseek-chat", False),
        ("smollm2", False),
    ],
)
def test_by_name(name: str, sees: bool) -> None:
    assert name_implies_vision(name) is sees
    assert OpenAIModel(name, api_key="k").vision is sees


def test_what_the_server_lists_counts_before_the_name() -> None:
    assert entry_implies_vision({"capabilities": ["completion", "vision"]}, "custom")
    assert entry_implies_vision({"type": "vlm"}, "custom")
    assert not entry_implies_vision({"capabilities": ["completion"]}, "custom")


@pytest.mark.parametrize("vision", [True, False])
def test_the_setting_counts_before_everything(vision: bool) -> None:
    base = Settings.defaults().model
    settings = base.model_copy(update={"provider": "anthropic", "name": "claude-x", "vision": vision})
    source = ModelSource(settings.model_copy(update={"base_url": "http://localhost:1"}))
    assert isinstance(source.default, AnthropicModel)
    assert source.default.vision is vision


def test_another_model_of_a_known_list() -> None:
    settings = Settings.defaults().model.model_copy(
        update={"provider": "openai", "name": "a", "base_url": "http://localhost:1", "vision": True}
    )
    source = ModelSource(settings)
    source._lists["openai"] = (0.0, [ModelInfo(name="b", vision=True), ModelInfo(name="c", vision=False)])
    found = [source.find(f"openai:{name}") for name in ("b", "c")]
    assert [getattr(model, "vision", None) for model in found] == [True, False]


def test_a_model_whose_secrets_are_masked_sees_what_it_saw() -> None:
    assert MaskedModel(ScriptedModel([], vision=True), ("secret-secret",)).vision
    assert not MaskedModel(ScriptedModel([]), ("secret-secret",)).vision
