"""The mode gate's answer is kept only as long as everything that it depends on stays as it is."""

from pathlib import Path
from typing import Any

import pytest

import toolgate
from tests.kit import BOTH, ProbeTool, call, code_of
from toolgate import CallableToolset, ToolCall, ToolContext, ToolMode, ToolRegistry
from toolgate.runtime import pipeline

CODING, CHAT = ToolMode.coding, ToolMode.chat_safe


def registry_of(*tools: Any) -> ToolRegistry:
    registry = ToolRegistry()
    for tool in tools:
        registry.register(tool)
    return registry


async def passes(toolset: CallableToolset) -> str | None:
    return code_of(await toolset.handle(call()))


async def test_an_override_acts_on_the_next_call_and_its_loosening_too() -> None:
    registry = registry_of(ProbeTool())
    toolset = registry.toolset(CODING, ToolContext())
    assert await passes(toolset) is None
    registry.set_mode_override("probe", [CHAT])
    assert await passes(toolset) == "MODE_DENIED"
    registry.set_mode_override("probe", [CHAT, CODING])
    assert await passes(toolset) is None


async def test_a_tool_that_is_taken_away_or_exchanged() -> None:
    first, second = ProbeTool(), ProbeTool()
    registry = registry_of(first)
    toolset = registry.toolset(CODING, ToolContext())
    assert await passes(toolset) is None
    registry.unregister("probe")
    assert await passes(toolset) == "TOOL_NOT_FOUND"
    registry.register(second)
    assert await passes(toolset) is None
    assert (len(first.calls), len(second.calls)) == (1, 1)


async def test_an_override_of_the_parent_acts_on_a_view_and_on_a_view_of_it() -> None:
    registry = registry_of(ProbeTool())
    toolset = registry.filter(["probe"]).filter(["probe"]).toolset(CODING, ToolContext())
    assert await passes(toolset) is None
    registry.set_mode_override("probe", [])
    assert await passes(toolset) == "MODE_DENIED"


async def test_what_a_tool_declares_later_does_not_count_and_an_override_does() -> None:
    tool = ProbeTool()
    registry = registry_of(tool)
    toolset = registry.toolset(CODING, ToolContext())
    tool.allowed_modes = frozenset({CHAT})
    assert await passes(toolset) is None
    registry.set_mode_override("probe", [CHAT])
    assert await passes(toolset) == "MODE_DENIED"


async def test_a_context_whose_mode_changes() -> None:
    toolset = CallableToolset([ProbeTool(allowed_modes=frozenset({CODING}))], ToolContext(mode=CODING))
    assert await passes(toolset) is None
    toolset.context.mode = CHAT
    assert await passes(toolset) == "MODE_DENIED"


async def test_a_registry_with_a_mind_of_its_own_is_asked_about_every_call() -> None:
    class Moody(ToolRegistry):
        asked = 0

        # one that was written before there were approval modes
        def check_mode(self, name: str, mode: ToolMode) -> bool:  # type: ignore[override]
            self.asked += 1
            return self.asked < 3

    registry = Moody()
    registry.register(ProbeTool())
    toolset = CallableToolset(registry, ToolContext(mode=CODING))
    assert [await passes(toolset) for _ in range(3)] == [None, None, "MODE_DENIED"]
    registry.asked = 0
    view = CallableToolset(registry.filter(["probe"]), ToolContext(mode=CODING))
    assert [await passes(view) for _ in range(3)] == [None, None, "MODE_DENIED"]


async def test_a_tool_that_rests_is_asked_about_every_call() -> None:
    class Resting(ProbeTool):
        seconds = 0.0

        def resting(self) -> tuple[float, str]:
            return self.seconds, "the server"

    tool = Resting()
    toolset = registry_of(tool).toolset(CODING, ToolContext())
    assert await passes(toolset) is None
    tool.seconds = 5.0
    assert await passes(toolset) == "CIRCUIT_OPEN"


async def test_a_broken_tool_rests_although_it_has_passed_before() -> None:
    @toolgate.tool(modes=BOTH)
    async def probe(broken: bool = False) -> str:
        """Probe."""
        if broken:
            raise ValueError("no")
        return "done"

    toolset = registry_of(probe).toolset(CODING, ToolContext())
    assert await passes(toolset) is None
    for _ in range(3):
        assert code_of(await toolset.handle(call(arguments={"broken": True}))) == "INTERNAL_ERROR"
    assert await passes(toolset) == "CIRCUIT_OPEN"


async def test_an_unknown_tool_is_refused_without_state_of_its_own_once_the_tools_were_looked_up(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr(pipeline, "added_secrets", [])  # those that other tests have added in this process
    toolset = registry_of(ProbeTool()).toolset(CODING, ToolContext())
    results = []
    for looked_up in (False, True):
        pending = toolset.handle(call("unknown"))
        results.append(await pending)
        assert (pending.state is None) is looked_up
    first, second = ({**result.to_dict(), "data": result.response.data} for result in results)
    assert first == second
    assert code_of(results[1]) == "TOOL_NOT_FOUND"


async def test_a_tool_that_was_unknown_runs_as_soon_as_it_is_registered() -> None:
    registry = registry_of(ProbeTool(name="other"))
    toolset = registry.toolset(CODING, ToolContext())
    assert [await passes(toolset) for _ in range(2)] == ["TOOL_NOT_FOUND"] * 2
    registry.register(ProbeTool())
    assert await passes(toolset) is None
    assert "other, probe." in (await toolset.handle(call("unknown"))).message


async def test_a_registry_that_hides_the_name_of_a_tool_still_runs_it() -> None:
    class Secretive(ToolRegistry):
        def names(self) -> list[str]:
            return []

    registry = Secretive()
    registry.register(ProbeTool())
    toolset = CallableToolset(registry, ToolContext(mode=CODING))
    assert code_of(await toolset.handle(call("unknown"))) == "TOOL_NOT_FOUND"
    assert await passes(toolset) is None


async def test_the_example_for_unreadable_arguments_names_only_what_is_required(tmp_path: Path) -> None:
    async with toolgate.open(tmp_path, CODING) as toolset:
        result = await toolset.handle(ToolCall(id="1", name="read_file", arguments='{"arguments": '))

    assert result.message.endswith('CORRECTION: call read_file with {"path": "…"}')
