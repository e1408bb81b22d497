"""JSON Schemas of strangers: what they cost is bounded, and what they say still holds."""

import time
from typing import Any

import pytest

from tests.kit import Foreign, call, code_of, toolset_of
from toolgate import ToolMode, ToolRegistry
from toolgate.tools.foreign_schema import MAX_ERRORS, ForeignSchema


def doubled(levels: int, keyword: str = "allOf") -> dict[str, Any]:
    """A small schema that doubles with every level: 2 kB, and a billion subschemas for 30 levels."""
    definitions: dict[str, Any] = {
        f"d{n}": {keyword: [{"$ref": f"#/$defs/d{n + 1}"}, {"$ref": f"#/$defs/d{n + 1}"}]} for n in range(levels)
    }
    definitions[f"d{levels}"] = {"type": "object", "required": ["missing"]}
    return {"type": "object", "$defs": definitions, "$ref": "#/$defs/d0"}


def in_properties(levels: int) -> dict[str, Any]:
    definitions: dict[str, Any] = {
        f"d{n}": {"properties": {"a": {"$ref": f"#/$defs/d{n + 1}"}, "b": {"$ref": f"#/$defs/d{n + 1}"}}}
        for n in range(levels)
    }
    definitions[f"d{levels}"] = {"type": "object"}
    return {"type": "object", "$defs": definitions, "$ref": "#/$defs/d0"}


NODE = {"type": "object", "properties": {"name": {"type": "string"}, "left": {"$ref": "#"}, "right": {"$ref": "#"}}}
AGAIN = {"$ref": "#/$defs/n"}
RECURSIVE_DOUBLED = {
    "type": "object",
    "$defs": {"n": {"type": "object", "properties": {"c": {"allOf": [AGAIN, AGAIN]}}}},
    "$ref": "#/$defs/n",
}
ONLY_ITSELF = {"type": "object", "$defs": {"a": {"$ref": "#/$defs/b"}, "b": {"$ref": "#/$defs/a"}}, "$ref": "#/$defs/a"}


@pytest.mark.parametrize(
    "schema",
    [doubled(30), doubled(30, "anyOf"), doubled(30, "oneOf"), in_properties(30)],
    ids=["all", "any", "one", "in"],
)
def test_references_that_double_are_refused_at_once(schema: dict[str, Any]) -> None:
    began = time.process_time()
    with pytest.raises(ValueError, match="once its references are followed"):
        ForeignSchema(schema)
    with pytest.raises(ValueError, match="tool 'foreign' has an invalid JSON Schema: it has more than"):
        ToolRegistry().register(Foreign(lambda _: None, schema), modes=[ToolMode.coding])
    assert time.process_time() - began < 2


@pytest.mark.parametrize("schema", [RECURSIVE_DOUBLED, ONLY_ITSELF, NODE], ids=["doubled", "itself", "tree"])
def test_a_schema_that_refers_to_itself_judges_deep_arguments_quickly(schema: dict[str, Any]) -> None:
    arguments: dict[str, Any] = {}
    for _ in range(60):
        arguments = {"c": arguments, "left": arguments}
        if len(str(arguments)) > 100_000:
            break
    began = time.process_time()
    ForeignSchema(schema).errors(arguments)
    assert time.process_time() - began < 2


def test_a_schema_that_refers_to_itself_still_judges() -> None:
    schema = ForeignSchema(NODE)
    assert schema.errors({"name": "a", "left": {"name": "b", "right": {"name": "c"}}}) == []
    assert [where for where, _ in schema.errors({"left": {"right": {"name": 3}}})] == ["left.right.name"]


def test_references_that_are_used_once_or_twice_still_hold() -> None:
    schema = ForeignSchema(
        {
            "type": "object",
            "$defs": {"point": {"type": "object", "properties": {"x": {"type": "integer"}}, "required": ["x"]}},
            "properties": {
                "from": {"$ref": "#/$defs/point"},
                "to": {"$ref": "#/$defs/point"},
                "$ref": {"type": "null"},
            },
        }
    )
    assert schema.errors({"from": {"x": 1}, "to": {"x": 2}, "$ref": None}) == []
    wrong = schema.errors({"from": {"x": "1"}, "to": {}, "$ref": 1})
    assert sorted(where for where, _ in wrong) == ["$ref", "from.x", "to"]


def test_anchors_are_followed() -> None:
    schema = ForeignSchema(
        {
            "type": "object",
            "$defs": {"w": {"$anchor": "word", "type": "string"}},
            "properties": {"a": {"$ref": "#word"}},
        }
    )
    assert (schema.errors({"a": "b"}), [where for where, _ in schema.errors({"a": 1})]) == ([], ["a"])


@pytest.mark.parametrize(
    ("part", "reason"),
    [
        ({"$ref": "https://example.org/schema"}, "nothing is fetched"),
        ({"$ref": "file:///etc/passwd"}, "nothing is fetched"),
        ({"$ref": "#/$defs/none"}, "leads nowhere"),
        ({"$dynamicRef": "#x"}, "dynamicRef"),
        ({"$id": "https://example.org/inner", "$ref": "#/$defs/a"}, "inner"),
        ({"pattern": "(?:(?:a{1000}){1000})"}, "regex"),
    ],
)
def test_what_cannot_be_followed_is_refused(part: dict[str, Any], reason: str) -> None:
    with pytest.raises(ValueError, match=reason):
        ForeignSchema({"type": "object", "properties": {"a": part}})


@pytest.mark.parametrize("pattern", [r"^(a+)+$", r"^(?=(a+)+$)b", r"(a|a)*\1b", r"^(a|aa)+$"])
def test_a_pattern_cannot_take_for_ever(pattern: str) -> None:
    schema = ForeignSchema({"type": "object", "properties": {"a": {"type": "string", "pattern": pattern}}})
    began = time.process_time()
    assert schema.errors({"a": "a" * 5000 + "!"})
    assert time.process_time() - began < 2


def test_only_the_first_problems_are_listed() -> None:
    schema = ForeignSchema({"type": "object", "properties": {"a": {"items": {"type": "string"}}}})
    assert len(schema.errors({"a": list(range(10_000))})) == MAX_ERRORS


async def test_arguments_that_are_too_large_for_a_large_schema_are_refused() -> None:
    wide = {"anyOf": [{"const": n} for n in range(5000)]}
    foreign = Foreign(lambda _: None, {"type": "object", "properties": {"a": {"items": wide}}})
    toolset = toolset_of(foreign)
    began = time.process_time()
    result = await toolset.handle(call("foreign", {"a": [-1] * 100_000}))
    assert (code_of(result), "too large to be checked" in result.output) == ("INVALID_PARAM", True)
    assert time.process_time() - began < 2
    assert code_of(await toolset.handle(call("foreign", {"a": [1, 2, 3]}))) != "INVALID_PARAM"
