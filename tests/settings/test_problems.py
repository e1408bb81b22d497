"""A sentence for every setting that is wrong, without its value."""

import pytest
from pydantic import BaseModel, ConfigDict, ValidationError, field_validator

from toolgate.errors import ConfigError
from toolgate.settings import Settings, variables
from toolgate.settings.problems import misspelt, problems_of


class Area(BaseModel):
    model_config = ConfigDict(extra="forbid")

    timeout: float = 1.0
    host: str = ""

    @field_validator("host")
    @classmethod
    def _lower(cls, value: str) -> str:
        if value != value.lower():
            raise ValueError("must be in lower case")
        return value


def problems(**given: object) -> list[str]:
    with pytest.raises(ValidationError) as caught:
        Area.model_validate(given)
    return problems_of(caught.value, Area.model_fields, "web")


def test_a_misspelt_name_is_answered_with_the_nearest_one() -> None:
    assert problems(timout=3) == ["web.timout is not a setting. Did you mean timeout?"]
    assert problems(colour="red") == ["web.colour is not a setting. There are: timeout, host."]


def test_a_wrong_value_is_named_by_its_setting_and_not_shown() -> None:
    assert problems(host="SECRET") == ["web.host: must be in lower case"]
    [sentence] = problems(timeout="SECRET")
    assert sentence.startswith("web.timeout: ")
    assert "SECRET" not in sentence


def test_every_mistake_has_its_sentence() -> None:
    assert len(problems(timeout="x", host="X", other=1)) == 3


@pytest.mark.parametrize(
    ("name", "meant"),
    [
        ("TOOLGATE_GATEWAY_PRT", "TOOLGATE_GATEWAY_PORT"),
        ("TOOLGATE_GATEWAY__PORT", "TOOLGATE_GATEWAY_PORT"),
        ("TOOLGATE_POLICY_FIEL", "TOOLGATE_POLICY_FILE"),
        ("TOOLGATE_SESSION_CODING_ENABLED", "SESSION_CODING_ENABLED"),
    ],
)
def test_a_variable_that_is_nearly_a_setting_is_refused_with_what_was_meant(
    monkeypatch: pytest.MonkeyPatch, name: str, meant: str
) -> None:
    monkeypatch.setenv(name, "1")
    with pytest.raises(ConfigError) as caught:
        Settings.load()
    assert caught.value.problems == [f"{name} is not a setting. Did you mean {meant}?"]


@pytest.mark.parametrize("service", ["TOOLGATE", "TOOLGATE_GATEWAY"])
def test_the_variables_that_kubernetes_makes_for_a_service_are_no_mistakes(service: str) -> None:
    ends = ("SERVICE_HOST", "SERVICE_PORT", "SERVICE_PORT_HTTP", "PORT_8765_TCP", "PORT_8765_TCP_PORT")
    assert misspelt([f"{service}_{end}" for end in ends], variables()) == []
