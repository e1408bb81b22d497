"""What a model is told about arguments that do not fit."""

import json
from enum import StrEnum
from pathlib import Path
from typing import Annotated, Any, Literal

import pytest
from pydantic import BaseModel, ConfigDict, Field, ValidationError

import toolgate
from tests.kit import Foreign, ProbeTool, code_of, run
from toolgate.runtime.repair import describe, example_of, likely_key, listed, problems_of, repair_message, unknown_keys
from toolgate.testing import AutoApprover
from toolgate.tools.schema import parameters_schema


class Size(StrEnum):
    small = "small"
    large = "large"


class Item(BaseModel):
    model_config = ConfigDict(extra="forbid")

    content: str = Field(min_length=1)
    status: Literal["open", "done"]


class Params(BaseModel):
    model_config = ConfigDict(extra="forbid")

    path: str
    limit: int = Field(ge=1, le=100)
    size: Size
    items: list[Item]
    ratio: Annotated[float, Field(gt=0)] = 0.5
    flag: bool = False
    label: str | None = None


def problems(document: Any) -> dict[str, str]:
    with pytest.raises(ValidationError) as caught:
        Params.model_validate_json(json.dumps(document), strict=True)
    return problems_of(caught.value, parameters_schema(Params))


def test_every_missing_key_is_named_with_what_was_expected() -> None:
    assert problems({}) == {
        "path": "required, expected string",
        "limit": "required, expected integer from 1 to 100",
        "size": 'required, expected one of "small", "large"',
        "items": "required, expected array",
    }


def test_every_kind_of_problem_is_named_at_once() -> None:
    found = problems(
        {"path": 7, "limit": True, "size": "huge", "items": [{"content": "", "status": "no", "x": 1}], "y": 1}
    )
    assert set(found) == {"path", "limit", "size", "items.0.content", "items.0.status", "items.0.x", "y"}
    assert found["path"].endswith("expected string, got 7")
    assert found["limit"].endswith("expected integer from 1 to 100, got true")
    assert "unknown key; known keys: path, limit" in found["y"]


def test_an_unknown_key_inside_names_the_keys_that_are_known_there() -> None:
    found = problems({"path": "a", "limit": 1, "size": "small", "items": [{"content": "a", "status": "open", "x": 1}]})
    assert "path" not in found["items.0.x"]


def test_an_unknown_key_that_is_nearly_a_known_one_names_it() -> None:
    schema: dict[str, Any] = {"properties": {"path": {}, "old_string": {}, "new_string": {}}}
    found = unknown_keys(["old_text", "zzz"], schema)
    assert found["old_text"].startswith("unknown key (did you mean 'old_string'?); known keys: path, old_string")
    assert found["zzz"].startswith("unknown key; known keys:")


@pytest.mark.parametrize(
    ("name", "key"),
    [("old", "old_string"), ("NEW", "new_string"), ("oldString", "old_string"), ("file_path", "path"), ("_", None)],
)
def test_a_key_of_other_tools_is_known_by_its_words(name: str, key: str | None) -> None:
    assert likely_key(name, {"properties": {"path": {}, "old_string": {}, "new_string": {}}}) == key


async def test_the_correction_has_the_keys_that_were_meant(tmp_path: Path) -> None:
    async with toolgate.open(tmp_path, "coding", AutoApprover()) as toolset:
        (tmp_path / "a").write_text("x")
        result = await toolset.call("edit_file", file="a", old="x", new="y", filePath="a")
        assert 'CORRECTION: call edit_file with {"path": "…", "old_string": "…", "new_string": "…"}' in result.output


def test_a_long_value_is_shown_short() -> None:
    found = problems({"path": ["x" * 10_000], "limit": 1, "size": "small", "items": []})
    assert len(found["path"]) < 300


@pytest.mark.parametrize(
    ("schema", "words"),
    [
        ({"type": "string"}, "string"),
        ({"enum": ["a", 1]}, 'one of "a", 1'),
        ({"const": "a"}, '"a"'),
        ({"anyOf": [{"type": "string"}, {"type": "null"}]}, "string or null"),
        ({"type": "integer", "minimum": 1}, "integer of at least 1"),
        ({"type": "integer", "maximum": 9}, "integer of at most 9"),
        ({"type": "integer", "minimum": 1, "maximum": 9}, "integer from 1 to 9"),
        ({}, "value"),
    ],
)
def test_a_type_in_a_few_words(schema: dict[str, Any], words: str) -> None:
    assert describe(schema) == words


def test_the_example_fits_the_schema() -> None:
    example = example_of(parameters_schema(Params))
    assert json.loads(example) == {"path": "…", "limit": 1, "size": "small", "items": []}
    Params.model_validate_json(example, strict=True)


def test_the_example_of_nested_and_bounded_parameters_fits_too() -> None:
    class Nested(BaseModel):
        item: Item
        items: list[Item] = Field(min_length=2)
        name: str = Field(min_length=3)
        above: int = Field(gt=10)
        below: int = Field(lt=-5)

    Nested.model_validate_json(example_of(parameters_schema(Nested)), strict=True)


def test_the_message_says_all_and_ends_with_the_correction() -> None:
    assert repair_message("probe", listed({"a": "x", "b": "y"}), "{}") == (
        "Invalid parameters for probe: a: x; b: y. CORRECTION: call probe with {}"
    )


async def test_the_example_in_the_message_is_a_call_that_works() -> None:
    tool = ProbeTool(Params=Params)
    refused = await run(tool, "{}")
    example = refused.message.partition("CORRECTION: call probe with ")[2]
    accepted = await run(tool, example)
    assert (refused.is_error, accepted.is_error) == (True, False)


@pytest.mark.parametrize(
    "schema",
    [
        {"type": "object", "properties": {"a": True}, "required": ["a"]},
        {"type": "object", "properties": {"a": {"type": ["integer", "null"]}}, "required": ["a"]},
        {"type": "object", "required": ["a", "b"]},
        {"properties": {"a": {"oneOf": [{"type": "string"}]}}, "required": ["a"]},
        {"properties": {"a": {"enum": []}}, "required": ["a"]},
        {},
        {"type": "object", "properties": {"a": {"type": "integer", "minimum": 2.5, "maximum": 3}}, "required": ["a"]},
    ],
)
async def test_whatever_a_foreign_schema_looks_like_there_is_an_example(schema: dict[str, Any]) -> None:
    result = await run(Foreign(lambda _: None, schema), "{broken")
    assert result.extras["parseError"]
    example = json.loads(result.message.partition("CORRECTION: call foreign with ")[2])
    assert list(example) == schema.get("required", [])


@pytest.mark.parametrize(
    ("others", "example"),
    [
        ({"additionalProperties": {"type": "string"}}, {}),
        ({"patternProperties": {"^o": {"type": "string"}}}, {"old_string": "…"}),
    ],
)
async def test_a_foreign_schema_may_take_keys_that_it_does_not_name(
    others: dict[str, Any], example: dict[str, Any]
) -> None:
    schema = {"type": "object", "properties": {"old_string": True}, **others}
    result = await run(Foreign(lambda _: None, schema), {"old": 1})
    assert code_of(result) == "INVALID_PARAM"
    assert json.loads(result.message.partition("CORRECTION: call foreign with ")[2]) == example


async def test_a_flood_of_unknown_keys_is_counted_and_not_repeated() -> None:
    result = await run(ProbeTool(Params=Item), {f"key{number}{'x' * 1000}": 1 for number in range(500)})
    assert len(result.message) < 20_000
    assert "and 452 more" in result.message
