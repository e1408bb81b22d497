"""`Tool`: its defaults and what it tells about itself."""

import re
from pathlib import Path
from typing import Any, Literal

import pytest
from pydantic import BaseModel

from tests.kit import NoParams, PathParams, ProbeTool
from toolgate import (
    CallableTool,
    Tool,
    ToolContext,
    ToolDefinition,
    ToolGroup,
    ToolMode,
    ToolResponse,
    Workspace,
    builtin_registry,
)
from toolgate.errors import ToolError
from toolgate.tools.builtin import WebFetchTool, WebSearchTool, agent_tools, builtin_tools


class Plain(Tool[NoParams]):
    name = "plain"
    description = "Plain."
    Params = NoParams

    async def execute(self, params: NoParams, context: ToolContext) -> ToolResponse:
        return ToolResponse.success({}, "done")


class DryParams(BaseModel):
    dry_run: Any = False


def test_the_defaults_are_closed_and_careful() -> None:
    tool = Plain()
    assert (tool.group, tool.allowed_modes, tool.requires_permission) == (ToolGroup.code, frozenset(), False)
    assert (tool.read_only, tool.idempotent, tool.timeout) == (False, False, None)


def test_a_tool_without_execute_cannot_be_made() -> None:
    class Nothing(Tool[NoParams]):
        name = "nothing"
        description = "Nothing."
        Params = NoParams

    with pytest.raises(TypeError, match="abstract"):
        Nothing()  # type: ignore[abstract]  # what is tested


def test_it_gives_its_definition() -> None:
    tool = ProbeTool(Params=PathParams)
    assert tool.tool_definition == ToolDefinition(name="probe", description="Probes.", parameters=tool.parameters)
    assert tool.parameters["required"] == ["path"]


async def test_planning_is_optional() -> None:
    assert await Plain().prepare(NoParams(), ToolContext()) is None


@pytest.mark.parametrize(
    ("requires", "dry_run", "asks"),
    [(True, False, True), (True, True, False), (False, False, False), (True, "yes", True), (True, 1, True)],
)
def test_a_dry_run_never_asks_and_only_true_is_one(requires: bool, dry_run: Any, asks: bool) -> None:
    tool = ProbeTool(requires_permission=requires)
    assert tool.needs_permission(DryParams(dry_run=dry_run), ToolContext()) is asks


def test_it_renders_text_then_data() -> None:
    assert Plain().render(ToolResponse.success({"a": 1}, "done")) == 'done\n{"a":1}'
    assert Plain().render(ToolResponse.success({}, "done")) == "done"


def test_bound_it_is_a_callable_tool() -> None:
    bound = ProbeTool().bind(ToolContext())
    assert isinstance(bound, CallableTool)
    assert bound.tool_definition.name == "probe"


@pytest.mark.parametrize("mode", ["coding", "chat_safe"])
def test_a_context_takes_a_mode_as_text(mode: Literal["coding", "chat_safe"]) -> None:
    assert ToolContext(mode=mode).mode is ToolMode(mode)


@pytest.mark.parametrize("mode", ["admin", "Coding", None, 1, ToolMode])
def test_a_context_takes_no_mode_but_a_mode(mode: Any) -> None:
    with pytest.raises(TypeError, match="ToolMode"):
        ToolContext(mode=mode)


def test_a_context_is_chat_safe_by_default() -> None:
    assert ToolContext().mode is ToolMode.chat_safe


def test_a_context_reads_no_environment(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("TOOL_OUTPUT_MAX_LINES", "7")
    monkeypatch.setenv("SESSION_CODING_ENABLED", "true")
    settings = ToolContext().settings
    assert (settings.tool_output.max_lines, settings.session.coding_enabled) == (2000, False)


def test_a_context_without_a_workspace_says_what_is_missing() -> None:
    with pytest.raises(ToolError, match="no workspace"):
        ToolContext().require_workspace()


def test_a_context_gives_its_workspace(tmp_path: Any) -> None:
    workspace = Workspace(tmp_path)
    assert ToolContext(workspace=workspace).require_workspace() is workspace
    workspace.close()


class FakeShell:
    """Only knows whether it was closed."""

    closed = False

    async def close(self) -> None:
        self.closed = True


async def test_a_shell_that_was_passed_in_is_not_closed() -> None:
    shell: Any = FakeShell()
    context = ToolContext(shell=shell)
    await context.aclose()
    assert (context.shell is shell, shell.closed) == (True, False)


async def test_closing_twice_is_fine() -> None:
    context = ToolContext()
    await context.aclose()
    await context.aclose()


PAGE = (Path(__file__).parents[2] / "docs" / "tools.md").read_text(encoding="utf-8")


def test_the_page_names_everything_that_a_tool_may_declare_or_override() -> None:
    declared = {name for name in {*vars(Tool), *Tool.__annotations__} if not name.startswith("_")}
    assert {"needs", "keep", "exclusive", "category", "prepare"} <= declared
    assert sorted(name for name in declared if not re.search(rf"`{name}[`(]", PAGE) and name not in MADE_BY_TOOL) == []


MADE_BY_TOOL = {"parameters", "tool_definition", "bind"}
"""What a tool makes of its declaration; nobody overrides it."""


def test_the_page_lists_every_built_in_tool_with_its_modes() -> None:
    table = PAGE.partition("## The built-in tools\n")[2].partition("\n## ")[0]
    rows = [line.split("|")[1:4] for line in table.splitlines() if line.startswith("| `")]
    listed = {
        name: set(re.findall(r"`(\w+)`", modes)) for names, _, modes in rows for name in re.findall("`(.+?)`", names)
    }
    tools = [*builtin_tools(), *agent_tools(), WebFetchTool(), WebSearchTool()]
    assert listed == {tool.name: {mode.value for mode in tool.allowed_modes} for tool in tools}


def test_the_page_names_every_port_that_a_built_in_tool_needs() -> None:
    ports = PAGE.partition("## Ports\n")[2].partition("\n## ")[0]
    needed = {port for tool in builtin_registry().list_tools(ToolMode.coding) for port in tool.needs}
    assert {"memory", "agents"} <= needed
    assert sorted(port for port in needed if f"`{port}`" not in ports) == []
