"""The registry: names, modes, overrides and views."""

import logging
from collections.abc import Callable
from typing import Any, Literal

import pytest

from tests.kit import Foreign, PathParams, ProbeTool, call, code_of
from toolgate import ToolContext, ToolDefinition, ToolMode, ToolRegistry, builtin_registry
from toolgate.errors import ModeError

CODING = frozenset({ToolMode.coding})


def registry_of(*tools: ProbeTool) -> ToolRegistry:
    registry = ToolRegistry()
    for tool in tools:
        registry.register(tool)
    return registry


@pytest.fixture
def registry() -> ToolRegistry:
    return registry_of(ProbeTool(name="a"), ProbeTool(name="b", allowed_modes=CODING), ProbeTool(name="c"))


def names(registry: ToolRegistry, mode: ToolMode) -> list[str]:
    return [tool.name for tool in registry.list_tools(mode)]


def test_get_gives_the_tool_or_none(registry: ToolRegistry) -> None:
    tool = registry.get("a")
    assert tool is not None
    assert tool.name == "a"
    assert registry.get("z") is None


def test_a_duplicate_is_refused_and_the_first_stays() -> None:
    first = ProbeTool()
    registry = registry_of(first)
    with pytest.raises(ValueError, match="'probe' is already registered: choose another name"):
        registry.register(ProbeTool())
    with pytest.raises(ValueError, match="already registered"):
        registry.register(Foreign(lambda _: None, name="probe"), modes=[ToolMode.coding])
    assert registry.get("probe") is first


@pytest.mark.parametrize("name", ["", "  ", None, 7])
def test_a_tool_needs_a_name(name: Any) -> None:
    with pytest.raises(ValueError, match="needs a name"):
        registry_of(ProbeTool(name=name))


def test_a_native_tool_declares_its_own_modes() -> None:
    with pytest.raises(TypeError, match="declares its own modes"):
        ToolRegistry().register(ProbeTool(), modes=[ToolMode.coding])


def test_describe_gives_all_whatever_their_modes(registry: ToolRegistry) -> None:
    registry.register(ProbeTool(name="closed", allowed_modes=frozenset(), Params=PathParams))
    described = registry.describe()
    assert [definition.name for definition in described] == ["a", "b", "c", "closed"]
    assert all(isinstance(definition, ToolDefinition) and definition.description for definition in described)


def test_describe_is_a_list_of_its_own(registry: ToolRegistry) -> None:
    registry.describe().clear()
    registry.list_tools(ToolMode.coding).clear()
    assert len(registry.describe()) == 3


def test_a_removed_tool_is_gone_and_its_name_is_free(registry: ToolRegistry) -> None:
    registry.set_mode_override("a", [])
    registry.unregister("a")
    assert (registry.get("a"), registry.check_mode("a", ToolMode.coding)) == (None, False)
    registry.register(ProbeTool(name="a"))
    assert registry.check_mode("a", ToolMode.coding)


def test_removing_what_is_not_there_is_an_error(registry: ToolRegistry) -> None:
    with pytest.raises(KeyError, match="'z'"):
        registry.unregister("z")


# modes


def test_the_schema_is_openais_function_format(registry: ToolRegistry) -> None:
    assert registry.get_tools_schema(ToolMode.chat_safe)[0] == {
        "type": "function",
        "function": {
            "name": "a",
            "description": "Probes.",
            "parameters": {"type": "object", "properties": {}, "additionalProperties": False},
        },
    }


def test_changing_the_schema_that_was_handed_out_changes_nothing(registry: ToolRegistry) -> None:
    registry.get_tools_schema(ToolMode.coding)[0]["function"]["parameters"]["properties"]["evil"] = {}
    assert registry.get_tools_schema(ToolMode.coding)[0]["function"]["parameters"]["properties"] == {}


def test_an_unknown_tool_is_allowed_in_no_mode(registry: ToolRegistry) -> None:
    assert not registry.check_mode("z", ToolMode.coding)
    assert registry.get_effective_modes("z") == frozenset()


@pytest.mark.parametrize("mode", ["coding", "chat_safe"])
def test_a_toolset_takes_a_mode_as_text(registry: ToolRegistry, mode: Literal["coding", "chat_safe"]) -> None:
    assert registry.toolset(mode, ToolContext()).context.mode is ToolMode(mode)


@pytest.mark.parametrize("mode", ["admin", "CODING", "", None, 1, b"coding", ToolMode])
def test_a_toolset_takes_no_mode_but_a_mode(registry: ToolRegistry, mode: Any) -> None:
    with pytest.raises(ModeError, match=r"ToolMode\.coding"):
        registry.toolset(mode, ToolContext())


@pytest.mark.parametrize("mode", ["coding", "chat_safe", "admin", None, 1, b"coding", ToolMode])
@pytest.mark.parametrize("ask", ["check_mode", "list_tools", "get_tools_schema", "set_mode_override"])
def test_what_is_no_mode_is_a_type_error(registry: ToolRegistry, ask: str, mode: Any) -> None:
    asks: dict[str, Callable[[], object]] = {
        "check_mode": lambda: registry.check_mode("a", mode),
        "list_tools": lambda: registry.list_tools(mode),
        "get_tools_schema": lambda: registry.get_tools_schema(mode),
        "set_mode_override": lambda: registry.set_mode_override("a", [mode]),
    }
    with pytest.raises(TypeError, match="ToolMode"):
        asks[ask]()


def test_what_is_no_mode_is_a_type_error_for_unknown_tools_and_empty_registries_too() -> None:
    with pytest.raises(TypeError):
        ToolRegistry().check_mode("z", "coding")  # type: ignore[arg-type]  # what is tested
    with pytest.raises(TypeError):
        ToolRegistry().list_tools("coding")  # type: ignore[arg-type]  # what is tested


def test_an_override_is_an_intersection(registry: ToolRegistry) -> None:
    registry.set_mode_override("a", [ToolMode.coding])
    assert registry.get_effective_modes("a") == CODING
    assert (names(registry, ToolMode.chat_safe), names(registry, ToolMode.coding)) == (["c"], ["a", "b", "c"])


def test_an_empty_override_closes_the_tool(registry: ToolRegistry) -> None:
    registry.set_mode_override("a", [])
    assert registry.get_effective_modes("a") == frozenset()
    assert not registry.check_mode("a", ToolMode.coding)


def test_an_override_cannot_widen_and_leaves_the_one_before(registry: ToolRegistry) -> None:
    registry.set_mode_override("b", [])
    with pytest.raises(ValueError, match="only tighten"):
        registry.set_mode_override("b", [ToolMode.coding, ToolMode.chat_safe])
    assert registry.get_effective_modes("b") == frozenset()


def test_the_last_override_wins_and_is_judged_by_what_the_tool_declares(registry: ToolRegistry) -> None:
    registry.set_mode_override("a", [])
    registry.set_mode_override("a", [ToolMode.chat_safe])
    assert registry.get_effective_modes("a") == {ToolMode.chat_safe}


def test_an_override_of_an_unknown_tool_is_a_key_error(registry: ToolRegistry) -> None:
    with pytest.raises(KeyError):
        registry.set_mode_override("z", [])


async def test_an_override_acts_at_once_on_toolsets_that_exist(registry: ToolRegistry) -> None:
    toolset = registry.toolset(ToolMode.coding, ToolContext())
    assert code_of(await toolset.handle(call("a"))) is None
    registry.set_mode_override("a", [ToolMode.chat_safe])
    assert [definition.name for definition in toolset.tools] == ["b", "c"]
    assert code_of(await toolset.handle(call("a"))) == "MODE_DENIED"


async def test_a_tool_that_comes_later_is_there_at_once(registry: ToolRegistry) -> None:
    toolset = registry.toolset(ToolMode.coding, ToolContext())
    registry.register(ProbeTool(name="late"))
    assert code_of(await toolset.handle(call("late"))) is None


async def test_a_tool_that_was_replaced_is_the_new_one() -> None:
    old, new = ProbeTool(), ProbeTool()
    registry = registry_of(old)
    toolset = registry.toolset(ToolMode.coding, ToolContext())
    await toolset.handle(call())
    registry.unregister("probe")
    registry.register(new)
    await toolset.handle(call())
    assert (len(old.calls), len(new.calls)) == (1, 1)


async def test_the_mode_of_a_toolset_wins_over_its_contexts_and_leaves_the_context_alone(
    registry: ToolRegistry,
) -> None:
    context = ToolContext(mode=ToolMode.coding)
    toolset = registry.toolset(ToolMode.chat_safe, context)
    assert code_of(await toolset.handle(call("b"))) == "MODE_DENIED"
    assert (context.mode, toolset.context.mode) == (ToolMode.coding, ToolMode.chat_safe)


# warnings


def test_a_tool_without_modes_is_registered_with_a_warning(caplog: pytest.LogCaptureFixture) -> None:
    with caplog.at_level(logging.WARNING):
        registry = registry_of(ProbeTool(name="closed", allowed_modes=frozenset()))
    assert [(record.name, record.levelname, record.getMessage()) for record in caplog.records] == [
        ("toolgate.registry", "WARNING", "tool_registered_with_default_modes tool_name='closed'")
    ]
    assert registry.get("closed") is not None


def test_built_in_tools_are_registered_without_a_warning(caplog: pytest.LogCaptureFixture) -> None:
    with caplog.at_level(logging.DEBUG):
        builtin_registry()
    assert caplog.records == []


def test_every_built_in_registry_is_new() -> None:
    first = builtin_registry()
    first.set_mode_override("read_file", [])
    first.unregister("ls")
    second = builtin_registry()
    assert (second.check_mode("read_file", ToolMode.coding), second.get("ls") is not None) == (True, True)


# views


def test_a_view_shows_only_what_it_was_asked_for_and_ignores_unknown_names(registry: ToolRegistry) -> None:
    view = registry.filter(["c", "a", "nobody"])
    assert [definition.name for definition in view.describe()] == ["a", "c"]
    assert (view.get("b"), view.check_mode("b", ToolMode.coding)) == (None, False)
    assert view.get("a") is registry.get("a")


def test_an_empty_filter_means_none(registry: ToolRegistry) -> None:
    view = registry.filter([])
    assert (view.describe(), view.list_tools(ToolMode.coding), view.get("a")) == ([], [], None)


def test_a_string_is_no_list_of_names(registry: ToolRegistry) -> None:
    with pytest.raises(TypeError):
        registry.filter("abc")


def test_a_view_is_live(registry: ToolRegistry) -> None:
    view = registry.filter(["a", "late"])
    registry.register(ProbeTool(name="late"))
    registry.unregister("a")
    assert [definition.name for definition in view.describe()] == ["late"]


def test_the_parents_overrides_apply_to_a_view(registry: ToolRegistry) -> None:
    view = registry.filter(["a", "b"])
    registry.set_mode_override("a", [ToolMode.coding])
    assert (names(view, ToolMode.chat_safe), names(view, ToolMode.coding)) == ([], ["a", "b"])
    assert view.get_effective_modes("a") == CODING


@pytest.mark.parametrize("change", ["register", "unregister", "set_mode_override"])
def test_a_view_cannot_be_changed(registry: ToolRegistry, change: str) -> None:
    view = registry.filter(["a"])
    changes: dict[str, Callable[[], object]] = {
        "register": lambda: view.register(ProbeTool(name="new")),
        "unregister": lambda: view.unregister("a"),
        "set_mode_override": lambda: view.set_mode_override("a", []),
    }
    with pytest.raises(TypeError, match="read-only"):
        changes[change]()
    assert [definition.name for definition in registry.describe()] == ["a", "b", "c"]
    assert registry.check_mode("a", ToolMode.chat_safe)


def test_a_view_of_a_view_shows_what_both_show(registry: ToolRegistry) -> None:
    view = registry.filter(["a", "b"]).filter(["b", "c"])
    registry.set_mode_override("b", [])
    assert [definition.name for definition in view.describe()] == ["b"]
    assert view.get_effective_modes("b") == frozenset()


async def test_a_tool_that_is_filtered_out_is_not_found_and_not_named(registry: ToolRegistry) -> None:
    toolset = registry.filter(["a"]).toolset(ToolMode.coding, ToolContext())
    result = await toolset.handle(call("b"))
    assert code_of(result) == "TOOL_NOT_FOUND"
    assert "available tools: a." in result.message


def test_a_listener_hears_of_every_change_until_it_ends() -> None:
    registry = builtin_registry()
    heard: list[str] = []
    end = registry.filter(["ls"]).on_change(lambda: heard.append("changed"))
    tool = registry.get("ls")
    assert tool is not None
    registry.set_mode_override("ls", [])
    registry.unregister("ls")
    registry.register(tool)
    assert heard == ["changed"] * 3
    end()
    registry.unregister("ls")
    assert len(heard) == 3


def test_a_toolset_has_no_tool_whose_port_is_missing() -> None:
    context = ToolContext(mode=ToolMode.coding)
    shown = {tool.name for tool in builtin_registry().toolset(ToolMode.coding, context).tools}

    assert shown.isdisjoint({"memory_search", "memory_append", "task"})
    assert {"read_file", "Bash", "todo"} <= shown


def test_a_toolset_shows_a_tool_that_is_registered_later() -> None:
    parent = builtin_registry()
    toolset = parent.toolset(ToolMode.coding, ToolContext(mode=ToolMode.coding))
    parent.unregister("ls")

    assert "ls" not in {tool.name for tool in toolset.tools}
    parent.register(ProbeTool(name="ls", allowed_modes=CODING))
    assert "ls" in {tool.name for tool in toolset.tools}
