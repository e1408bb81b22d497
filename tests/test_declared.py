"""Declarations of a program: what is wrong with one is one sentence, inside another one with its place."""

from typing import Any, Literal

import pytest
from pydantic import ConfigDict, Field, ValidationError, field_validator

from toolgate.declared import Declared
from toolgate.errors import DeclarationError


class Door(Declared):
    model_config = ConfigDict(extra="forbid")

    colour: Literal["red", "green"]
    width: int = Field(default=80, gt=0)

    @field_validator("width")
    @classmethod
    def _even(cls, width: int) -> int:
        if width % 2:
            raise ValueError("must be even: write 80")
        return width


class House(Declared):
    doors: tuple[Door, ...]


@pytest.mark.parametrize(
    ("values", "said"),
    [
        ({"colour": "blue"}, "Door: colour is 'blue': write 'red' or 'green'"),
        ({}, "Door: colour is missing"),
        ({"color": "red"}, "Door: colour is missing; color is unknown; did you mean colour?"),
        ({"colour": "red", "key": 1}, "Door: key is unknown; there are colour, width"),
        ({"colour": "red", "width": 81}, "Door: width must be even: write 80"),
        ({"colour": "red", "width": -2}, "Door: width is -2: input should be greater than 0"),
    ],
)
def test_what_is_wrong_is_one_sentence(values: dict[str, Any], said: str) -> None:
    with pytest.raises(DeclarationError) as caught:
        Door(**values)
    assert str(caught.value) == said
    assert isinstance(caught.value, ValueError)


def test_what_is_right_is_made() -> None:
    assert Door(colour="red").width == 80


def test_a_value_inside_another_one_is_named_with_its_place() -> None:
    with pytest.raises(DeclarationError) as caught:
        House(doors=[{"colour": "blue"}])  # type: ignore[arg-type]
    assert str(caught.value) == "House: doors.0.colour is 'blue': write 'red' or 'green'"


def test_values_from_a_file_get_pydantics_own_error() -> None:
    with pytest.raises(ValidationError) as caught:
        House.model_validate({"doors": [{"colour": "blue"}]})
    assert [item["loc"] for item in caught.value.errors()] == [("doors", 0, "colour")]
