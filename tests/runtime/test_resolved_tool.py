"""A registered tool with everything that is needed on every call."""

from typing import Any

import pytest
from pydantic import BaseModel, ValidationError

from tests.kit import Foreign, PathParams, ProbeTool
from toolgate import ToolContext, ToolResponse, tool
from toolgate.runtime.resolved_tool import ResolvedTool
from toolgate.tools.base import Tool
from toolgate.tools.declaration import declaration_of
from toolgate.tools.foreign import ForeignTool


def resolved(given: Tool[Any]) -> ResolvedTool:
    return ResolvedTool(given, declaration_of(given))


class _Planning(ProbeTool):
    async def prepare(self, params: Any, context: ToolContext) -> None:
        return None


class _Loose(BaseModel):
    path: str


def test_a_plain_tool_has_none_of_the_optional_methods() -> None:
    found = resolved(ProbeTool())
    assert [found.prepares, found.reroutes, found.rests, found.categorises, found.careful] == [False] * 5
    assert found.plain_render


def test_a_tool_that_plans_or_needs_permission_is_careful() -> None:
    assert resolved(_Planning()).careful
    assert resolved(ProbeTool(requires_permission=True)).careful


def test_a_reader_and_a_tool_that_is_not_exclusive_do_not_wait_for_writers() -> None:
    assert resolved(ProbeTool()).writes
    assert not resolved(ProbeTool(read_only=True)).writes
    assert not resolved(ProbeTool(exclusive=False)).writes


def test_a_foreign_tool_is_known_as_such() -> None:
    found = resolved(ForeignTool(Foreign(lambda _: 1)))
    assert found.foreign is found.tool


def test_unknown_keys_are_refused_even_if_the_model_would_ignore_them() -> None:
    assert resolved(ProbeTool(Params=_Loose)).keys == frozenset({"path"})
    assert resolved(ProbeTool(Params=PathParams)).keys is None


def test_json_is_read_strictly_and_values_of_an_agent_command_are_not() -> None:
    found = resolved(ProbeTool(Params=PathParams))
    assert found.read({"path": "a", "limit": "3"}) == PathParams(path="a", limit=3)
    with pytest.raises(ValidationError):
        found.read('{"path": "a", "limit": "3"}')


def test_a_value_becomes_an_envelope_and_an_envelope_stays() -> None:
    @tool
    async def number() -> int:
        """A number."""
        return 1

    response = ToolResponse.success({}, "done")
    assert resolved(number).response_of(response) is response
    assert resolved(number).response_of(1).data == {"result": 1}
