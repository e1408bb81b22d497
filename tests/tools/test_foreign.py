"""Tools of other people: their schemas, their answers, their errors."""

import asyncio
from typing import Any

import pytest

from tests.kit import Foreign, ProbeTool, call, code_of, run, toolset_of
from toolgate import CallableTool, ToolDefinition, ToolMode, ToolRegistry, ToolResponse
from toolgate.testing import violations

SCHEMA = {"type": "object", "properties": {"n": {"type": "integer"}}, "required": ["n"]}


def answering(value: Any) -> Foreign:
    return Foreign(lambda _: asyncio.sleep(0, value))


def test_a_foreign_tool_is_a_definition_and_a_call() -> None:
    assert isinstance(answering(1), CallableTool)


async def test_it_gets_the_parsed_object_and_keeps_the_id() -> None:
    tool = Foreign(lambda arguments: asyncio.sleep(0, arguments["n"] + 1), SCHEMA)
    result = await run(tool, '{"n": 41}', id="abc")
    assert (tool.calls, result.tool_call_id, result.response.data) == ([{"n": 41}], "abc", {"result": 42})


async def test_a_response_is_kept() -> None:
    result = await run(answering(ToolResponse.partial({"a": 1}, "Half. Use more.")))
    assert (result.response.status, result.response.data, result.message) == ("partial", {"a": 1}, "Half. Use more.")


async def test_an_envelope_as_a_dict_is_validated_and_kept() -> None:
    envelope = {"status": "partial", "data": {"truncated": True}, "text": "Cut. Use less.", "stats": {"total": 3}}
    result = await run(answering(envelope))
    assert (result.response.status, result.response.data, result.response.text) == (
        "partial",
        {"truncated": True},
        "Cut. Use less.",
    )
    assert result.response.stats["total"] == 3


async def test_an_envelope_with_a_null_error_is_accepted() -> None:
    result = await run(answering({"status": "success", "data": {}, "text": "Fine.", "error": None}))
    assert result.response.to_dict().keys() == {"status", "data", "text", "stats", "context"}


async def test_an_error_envelope_as_a_dict_keeps_its_code() -> None:
    error = {"code": "NOT_FOUND", "message": "Gone."}
    result = await run(
        answering({"status": "error", "data": {"n": 1}, "text": "Gone. Look elsewhere.", "error": error})
    )
    assert (code_of(result), result.message, result.response.data) == ("NOT_FOUND", "Gone.", {"n": 1})


@pytest.mark.parametrize(
    "envelope",
    [
        {"status": "ok", "data": {}, "text": "x"},
        {"status": "success", "data": None, "text": "x"},
        {"status": "success", "data": [], "text": "x"},
        {"status": "success", "data": {}, "text": "x", "extra": 1},
        {"status": "success", "data": {"truncated": True}, "text": "x"},
        {"status": "success", "data": {"applied": False}, "text": "x"},
        {"status": "success", "data": {"fallback": "python"}, "text": "x"},
        {"status": "error", "data": {}, "text": "x"},
        {"status": "error", "data": {}, "text": "x", "error": {"code": "NOPE", "message": "x"}},
        {"status": "success", "data": {}, "text": "x", "error": {"code": "NOT_FOUND", "message": "x"}},
        {"status": "success", "data": {}, "text": 7},
    ],
)
async def test_an_envelope_that_contradicts_itself_is_a_fault_of_the_tool(envelope: dict[str, Any]) -> None:
    result = await run(answering(envelope))
    assert code_of(result) == "INTERNAL_ERROR"
    assert violations(result) == []


@pytest.mark.parametrize(
    "value",
    [
        {"error": "Error: disk on fire"},
        {"error": "Error: disk on fire", "status": "error", "data": {}, "text": ""},
        {"error": "Error: disk on fire", "status": "success", "data": {}, "text": "fine"},
    ],
)
async def test_an_old_style_error_string_becomes_an_error_with_its_words(value: dict[str, Any]) -> None:
    result = await run(answering(value))
    assert (code_of(result), result.message) == ("INTERNAL_ERROR", "Error: disk on fire")
    assert violations(result) == []


async def test_an_old_style_error_keeps_what_else_it_said() -> None:
    result = await run(answering({"error": "Error: x", "hint": "y"}))
    assert result.response.data == {"hint": "y"}


async def test_an_empty_old_style_error_is_still_an_error() -> None:
    result = await run(answering({"error": ""}))
    assert code_of(result) == "INTERNAL_ERROR"
    assert result.message


@pytest.mark.parametrize("value", [None, "text", 7, 1.5, [1], {"a": 1}, {"error": None}, {"error": {"code": 1}}, {}])
async def test_all_else_is_a_result(value: Any) -> None:
    result = await run(answering(value))
    assert (code_of(result), result.response.data) == (None, {"result": value})
    assert violations(result) == []


async def test_a_tool_that_answers_at_once_is_fine_too() -> None:
    assert (await run(Foreign(lambda _: "now"))).response.data == {"result": "now"}


async def test_a_tool_that_raises_before_it_returns_is_answered() -> None:
    def fail(arguments: dict[str, Any]) -> Any:
        raise KeyError("secret")

    result = await run(Foreign(fail))
    assert code_of(result) == "INTERNAL_ERROR"
    assert "secret" not in result.response.to_json()


async def test_its_schema_is_enforced_before_it_is_called() -> None:
    tool = Foreign(lambda _: None, SCHEMA)
    result = await run(tool, {"n": "1"})
    assert (code_of(result), tool.calls) == ("INVALID_PARAM", [])
    assert "n: " in result.message


async def test_true_is_no_integer_for_a_foreign_schema_either() -> None:
    assert code_of(await run(Foreign(lambda _: None, SCHEMA), {"n": True})) == "INVALID_PARAM"


async def test_its_definition_is_shown_as_it_is() -> None:
    tool = Foreign(lambda _: None, SCHEMA)
    assert toolset_of(tool).tools == [ToolDefinition(name="foreign", description="Foreign.", parameters=SCHEMA)]


@pytest.mark.parametrize(
    "schema",
    [
        {"type": "no-such-type"},
        {"$ref": "https://example.com/schema.json"},
        {"properties": {"a": {"$ref": "http://127.0.0.1:9/x"}}},
        {"$ref": "file:///etc/passwd"},
    ],
)
def test_a_schema_that_is_invalid_or_elsewhere_is_refused_at_once(schema: dict[str, Any]) -> None:
    with pytest.raises(ValueError, match="'foreign' has an invalid JSON Schema"):
        toolset_of(Foreign(lambda _: None, schema))


async def test_a_bare_foreign_tool_has_no_modes_and_runs() -> None:
    assert code_of(await run(answering(1), mode=ToolMode.chat_safe)) is None


async def test_in_a_registry_it_has_the_modes_that_it_was_registered_with() -> None:
    registry = ToolRegistry()
    registry.register(answering(1), modes=[ToolMode.coding])
    assert registry.get_effective_modes("foreign") == {ToolMode.coding}
    from toolgate import ToolContext

    denied = await registry.toolset(ToolMode.chat_safe, ToolContext()).handle(call("foreign"))
    allowed = await registry.toolset(ToolMode.coding, ToolContext()).handle(call("foreign"))
    assert (code_of(denied), code_of(allowed)) == ("MODE_DENIED", None)


def test_in_a_registry_without_modes_it_is_closed(caplog: pytest.LogCaptureFixture) -> None:
    registry = ToolRegistry()
    registry.register(answering(1))
    assert (registry.list_tools(ToolMode.coding), registry.list_tools(ToolMode.chat_safe)) == ([], [])
    assert "tool_registered_with_default_modes tool_name='foreign'" in caplog.text


@pytest.mark.parametrize("thing", [None, 5, "ls", object(), print, ProbeTool])
def test_what_is_no_tool_is_said_to_be_none(thing: Any) -> None:
    with pytest.raises(TypeError, match="is not a tool"):
        ToolRegistry().register(thing)
