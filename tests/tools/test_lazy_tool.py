"""Tools that are known by their stored declaration until they are needed."""

from typing import Any

import pytest
from pydantic import BaseModel

from toolgate import ErrorCode, Tool, ToolContext, ToolMode, ToolRegistry, ToolResponse
from toolgate.errors import DeclarationError
from toolgate.protocol.modes import ToolGroup
from toolgate.tools.declaration import declaration_of
from toolgate.tools.lazy_tool import LazyTool, declaration_to_json, lazy_tool


class EchoParams(BaseModel):
    text: str


class Echo(Tool[EchoParams]):
    name = "echo"
    description = "Says it again."
    Params = EchoParams
    group = ToolGroup.world
    allowed_modes = frozenset({ToolMode.coding, ToolMode.chat_safe})
    keep_data = ("text",)

    async def execute(self, params: EchoParams, context: ToolContext) -> ToolResponse:
        return ToolResponse.success({"text": params.text}, params.text)

    def needs_permission(self, params: EchoParams, context: ToolContext) -> bool:
        return True


class Loud(Echo):
    requires_permission = True


class Resting(Echo):
    def resting(self) -> tuple[float, str]:
        return 1.0, "the network"


def lazy(make: type[Tool[Any]] = Echo) -> LazyTool:
    return lazy_tool(declaration_to_json(declaration_of(Echo())), Echo.description, make)


def test_a_stored_declaration_has_everything_but_code() -> None:
    declared = declaration_of(Echo())

    assert lazy().declaration == declared._replace(params=None, own_permission=None)


def test_loading_completes_the_declaration() -> None:
    tool, declared = lazy().load()

    assert isinstance(tool, Echo)
    assert declared.params is EchoParams
    assert declared.own_permission is not None


@pytest.mark.parametrize("other", [Loud, Resting])
def test_a_tool_that_declares_something_else_is_refused(other: type[Tool[Any]]) -> None:
    with pytest.raises(DeclarationError, match="'echo' does not declare what is stored about it"):
        lazy(other).load()


def test_a_registry_makes_a_lazy_tool_when_it_is_asked_for_and_once() -> None:
    made = list[Tool[Any]]()

    def make() -> Tool[Any]:
        made.append(Echo())
        return made[-1]

    registry = ToolRegistry()
    registry.add_lazy(lazy()._replace(make=make))

    assert registry.names() == [found.name for found in registry.list_declarations(ToolMode.coding)] == ["echo"]
    assert registry.get_tools_schema(ToolMode.coding)[0]["function"]["name"] == "echo"
    assert made == []
    assert registry.get("echo") is registry.get("echo") is made[0]
    assert len(made) == 1
    completed = registry.declaration("echo")
    assert completed is not None
    assert completed.params is EchoParams


def test_the_name_of_a_lazy_tool_is_taken() -> None:
    registry = ToolRegistry()
    registry.add_lazy(lazy())

    with pytest.raises(ValueError, match="already registered"):
        registry.register(Echo())
    with pytest.raises(ValueError, match="already registered"):
        registry.add_lazy(lazy())


def test_a_lazy_tool_can_be_removed_before_anybody_asks_for_it() -> None:
    registry = ToolRegistry()
    registry.add_lazy(lazy())
    registry.unregister("echo")

    assert (registry.names(), registry.get("echo"), registry.declaration("echo")) == ([], None, None)


def test_a_view_shows_lazy_tools_and_takes_none() -> None:
    registry = ToolRegistry()
    registry.add_lazy(lazy())
    view = registry.filter(["echo"])

    assert [found.name for found in view.list_declarations(ToolMode.coding)] == ["echo"]
    with pytest.raises(TypeError, match="read-only"):
        view.add_lazy(lazy())


async def test_a_call_of_a_tool_that_cannot_be_loaded_fails_and_runs_nothing() -> None:
    registry = ToolRegistry()
    registry.add_lazy(lazy(Loud))
    result = await registry.toolset(ToolMode.coding, ToolContext()).call("echo", text="hello")

    assert result.response is not None
    assert result.response.error is not None
    assert result.response.error.code is ErrorCode.INTERNAL_ERROR
