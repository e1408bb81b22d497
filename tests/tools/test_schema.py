"""Parameter schemas as models like them: no titles, no references."""

import json
from enum import StrEnum
from typing import Annotated, Any, Literal

from pydantic import BaseModel, ConfigDict, Field

from toolgate.tools.schema import parameters_schema


class Colour(StrEnum):
    red = "red"
    blue = "blue"


class Inner(BaseModel):
    title: str
    default: int = 1


class Outer(BaseModel):
    model_config = ConfigDict(title="Outer title")

    title: str = Field(title="A title", description="The title itself.")
    inner: Inner = Field(description="Described here.")
    colour: Colour = Colour.red
    many: list[Inner] = []
    properties: dict[str, Inner] = {}


def test_titles_are_dropped_but_a_property_named_title_stays() -> None:
    schema = parameters_schema(Outer)
    assert schema["properties"]["title"] == {"type": "string", "description": "The title itself."}
    assert set(schema["properties"]) == {"title", "inner", "colour", "many", "properties"}


def test_references_are_inlined_everywhere() -> None:
    schema = parameters_schema(Outer)
    inner = {
        "type": "object",
        "properties": {"title": {"type": "string"}, "default": {"type": "integer", "default": 1}},
        "required": ["title"],
    }
    assert schema["properties"]["inner"] == {**inner, "description": "Described here."}
    assert schema["properties"]["many"]["items"] == inner
    assert schema["properties"]["properties"]["additionalProperties"] == inner
    assert schema["properties"]["colour"]["enum"] == ["red", "blue"]
    assert "$ref" not in json.dumps(schema)
    assert "$defs" not in json.dumps(schema)


def test_a_recursive_model_ends() -> None:
    class Node(BaseModel):
        value: int
        children: "list[Node]" = []

    schema = parameters_schema(Node)
    assert "$ref" not in json.dumps(schema)
    assert schema["properties"]["children"]["items"]["type"] == "object"


def test_a_union_by_a_discriminator_has_no_reference_left() -> None:
    class Cat(BaseModel):
        kind: Literal["cat"]

    class Dog(BaseModel):
        kind: Literal["dog"]

    class Owner(BaseModel):
        pet: Annotated[Cat | Dog, Field(discriminator="kind")]

    schema = parameters_schema(Owner)
    assert "$defs" not in json.dumps(schema)
    assert [option["properties"]["kind"]["const"] for option in schema["properties"]["pet"]["oneOf"]] == ["cat", "dog"]


def test_a_default_that_looks_like_a_schema_is_left_alone() -> None:
    class Odd(BaseModel):
        value: dict[str, Any] = {"title": "kept", "properties": {"title": "kept too"}}

    assert parameters_schema(Odd)["properties"]["value"]["default"] == {
        "title": "kept",
        "properties": {"title": "kept too"},
    }


def test_unknown_keys_are_forbidden_unless_the_model_allows_them() -> None:
    class Lax(BaseModel):
        pass

    class Open(BaseModel):
        model_config = ConfigDict(extra="allow")

    assert parameters_schema(Lax) == {"type": "object", "properties": {}, "additionalProperties": False}
    assert parameters_schema(Open)["additionalProperties"] is True


def test_the_model_itself_is_not_changed() -> None:
    before = Outer.model_json_schema()
    parameters_schema(Outer)
    assert Outer.model_json_schema() == before
