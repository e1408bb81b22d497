"""The model of a session or a sub-agent, by its name."""

import pytest

from toolgate.agent.session_models import SessionModels
from toolgate.errors import ModelError
from toolgate.models import ModelRequest
from toolgate.models.base import ModelClient
from toolgate.testing import ScriptedModel

REQUEST = ModelRequest([{"role": "user", "content": "hello"}])


async def said(model: ModelClient) -> str:
    return "".join([item async for item in model.stream(REQUEST) if isinstance(item, str)])


async def test_a_session_without_a_name_gets_the_default() -> None:
    models = SessionModels(ScriptedModel(["default"]), None, ())
    assert await said(models.of_session("")) == "default"


async def test_a_name_is_looked_up() -> None:
    models = SessionModels(ScriptedModel(["default"]), lambda name: ScriptedModel([f"I am {name}"]), ())
    assert await said(models.of_session("other")) == "I am other"
    assert models.by_name is not None
    assert await said(models.by_name("third")) == "I am third"


async def test_a_model_that_is_not_there_fails_when_it_is_asked() -> None:
    models = SessionModels(ScriptedModel(["default"]), None, ())
    assert models.by_name is None
    model = models.of_session("other")
    with pytest.raises(ModelError, match="'other'"):
        await said(model)


async def test_secrets_are_masked_in_what_a_model_says() -> None:
    secret = "sk-0123456789abcdef"
    models = SessionModels(ScriptedModel([f"the key is {secret}"]), lambda _: ScriptedModel([secret]), (secret,))
    assert models.by_name is not None
    for model in (models.of_session(""), models.of_session("other"), models.by_name("third")):
        assert secret not in await said(model)
