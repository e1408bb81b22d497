"""A sentence for every setting that is wrong, without its value."""

import pytest
from pydantic import BaseModel, ConfigDict, ValidationError, field_validator

from toolgate.settings.problems import problems_of


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
