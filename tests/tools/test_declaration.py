"""What a tool declares: refused where it makes no sense, and copied when the tool is registered."""

import enum
from collections.abc import Iterator
from typing import Any

import pytest
from pydantic import BaseModel

from tests.kit import BOTH, Foreign, NoParams, PathParams, ProbeTool, call, code_of
from toolgate import CallableToolset, ToolContext, ToolGroup, ToolMode, ToolRegistry, builtin_registry, tool
from toolgate.errors import DeclarationError
from toolgate.testing import AutoApprover
from toolgate.tools.builtin import builtin_tools

CODING, CHAT = ToolMode.coding, ToolMode.chat_safe
FLAGS = ("requires_permission", "read_only", "idempotent", "exclusive")


class Likeness(enum.StrEnum):
    coding = "coding"


def broken(attribute: str) -> ProbeTool:
    """A tool one of whose declarations raises when it is read."""

    def fail(_self: ProbeTool) -> Any:
        raise RuntimeError("no")

    kind: type[ProbeTool] = type("Broken", (ProbeTool,), {attribute: property(fail)})
    return kind()


def modes_made() -> Iterator[ToolMode]:
    yield CODING


class Unshowable:
    def __repr__(self) -> str:
        raise RuntimeError("no")


WRONG = [
    *[
        ("allowed_modes", value)
        for value in (
            "not_chat_safe",
            "coding",
            CODING,
            b"coding",
            None,
            7,
            3.5,
            {"coding": True},
            {"CODING"},
            {"coding", "root"},
            {Likeness.coding},
            [CODING, None],
            [[CODING]],
            modes_made(),
            ToolMode,
            object(),
            Unshowable(),
        )
    ],
    *[
        (flag, value)
        for flag in ("requires_permission", "read_only", "idempotent", "exclusive")
        for value in (None, 0, "no")
    ],
    *[("timeout", value) for value in ("5", 0, -1, True, float("nan"), float("inf"))],
    *[("group", value) for value in (None, "kitchen", 3)],
    *[("Params", value) for value in (None, dict, NoParams())],
    *[("description", value) for value in (None, 7)],
    ("keep", "middle"),
    ("keep_data", "exit_code"),
    ("needs", None),
    ("needs_permission", True),
    ("parameters", {"type": object()}),
    ("parameters", {1: {}}),
    ("parameters", "text"),
]


@pytest.mark.parametrize(("attribute", "value"), WRONG, ids=lambda value: str(type(value).__name__))
async def test_a_declaration_that_makes_no_sense_is_refused_in_a_sentence(attribute: str, value: Any) -> None:
    registry = builtin_registry()
    before = registry.get_tools_schema(CODING)
    with pytest.raises(DeclarationError, match=r"probe.*"):
        registry.register(ProbeTool(**{attribute: value}))
    with pytest.raises(DeclarationError, match=r"probe.*"):
        CallableToolset([ProbeTool(**{attribute: value})])
    assert (registry.get("probe"), registry.get_tools_schema(CODING)) == (None, before)
    assert not (await registry.toolset(CHAT, ToolContext()).handle(call("current_time"))).is_error


@pytest.mark.parametrize(
    "attribute",
    ["name", "description", "allowed_modes", "requires_permission", "read_only", "timeout", "group", "Params"],
)
def test_a_declaration_that_raises_is_refused_and_the_registry_still_works(attribute: str) -> None:
    registry = builtin_registry()
    with pytest.raises(DeclarationError, match=rf"its {attribute} cannot be read \(RuntimeError\)"):
        registry.register(broken(attribute))
    assert len(registry.describe()) == len(registry.names()) == len(builtin_tools())


def test_a_declaration_error_is_a_type_error_and_a_value_error() -> None:
    assert issubclass(DeclarationError, TypeError)
    assert issubclass(DeclarationError, ValueError)


@pytest.mark.parametrize(
    "modes", ["coding", "not_chat_safe", b"coding", 7, {"coding": 1}, ["CODING"], [Likeness.coding]]
)
def test_modes_that_are_handed_over_are_checked_as_well(modes: Any) -> None:
    with pytest.raises(DeclarationError, match="modes must be"):
        ToolRegistry().register(Foreign(lambda _: None), modes=modes)
    with pytest.raises(DeclarationError, match="modes must be"):
        tool(modes=modes)(lambda: None)


@pytest.mark.parametrize("modes", [{CODING}, [CODING], (CODING,), frozenset({CODING}), {"coding"}, [CODING, "coding"]])
def test_every_collection_of_modes_is_taken_and_a_mode_may_be_written_as_text(modes: Any) -> None:
    registry = ToolRegistry()
    registry.register(ProbeTool(allowed_modes=modes))
    assert registry.get_effective_modes("probe") == {CODING}
    assert all(type(mode) is ToolMode for mode in registry.get_effective_modes("probe"))
    assert (registry.check_mode("probe", CODING), registry.check_mode("probe", CHAT)) == (True, False)


async def test_modes_that_are_widened_after_registering_stay_as_they_were() -> None:
    modes = {CODING}
    probe = ProbeTool(allowed_modes=modes)
    registry = ToolRegistry()
    registry.register(probe)
    toolset = registry.toolset(CHAT, ToolContext())
    modes.add(CHAT)
    probe.allowed_modes = BOTH
    assert (registry.check_mode("probe", CHAT), registry.get_tools_schema(CHAT), toolset.tools) == (False, [], [])
    assert code_of(await toolset.handle(call())) == "MODE_DENIED"
    with pytest.raises(ValueError, match="can only tighten"):
        registry.set_mode_override("probe", [CHAT])
    assert probe.calls == []


async def test_modes_that_the_class_widens_later_stay_as_they_were() -> None:
    class Own(ProbeTool):
        allowed_modes = frozenset({CODING})

    registry = ToolRegistry()
    registry.register(Own())
    Own.allowed_modes = BOTH
    assert code_of(await registry.toolset(CHAT, ToolContext()).handle(call())) == "MODE_DENIED"


async def test_a_toolset_without_a_registry_keeps_the_first_declaration_too() -> None:
    probe = ProbeTool(allowed_modes=frozenset({CODING}))
    toolset = CallableToolset([probe])
    probe.allowed_modes = BOTH
    assert code_of(await toolset.handle(call())) == "MODE_DENIED"


async def test_permission_that_is_dropped_after_registering_is_still_asked_for() -> None:
    probe = ProbeTool(requires_permission=True)
    toolset = CallableToolset([probe], ToolContext(mode=CODING))
    probe.requires_permission = False
    probe.needs_permission = lambda *_: False  # type: ignore[method-assign]
    assert code_of(await toolset.handle(call())) == "APPROVAL_DENIED"
    assert probe.calls == []


@pytest.mark.parametrize("own", [True, False])
async def test_permission_that_the_class_drops_later_is_still_asked_for(own: bool) -> None:
    class Asking(ProbeTool):
        requires_permission = True

    if own:

        def sometimes(self: Asking, params: Any, context: ToolContext) -> bool:
            return self.requires_permission

        Asking.needs_permission = sometimes  # type: ignore[assignment]
    probe = Asking()
    toolset = CallableToolset([probe], ToolContext(mode=CODING))
    Asking.requires_permission = False
    Asking.needs_permission = lambda *_: False  # type: ignore[method-assign]
    assert code_of(await toolset.handle(call())) == "APPROVAL_DENIED"


async def test_a_tool_that_decides_for_itself_whether_it_asks_is_asked_every_time() -> None:
    class Sometimes(ProbeTool):
        Params = PathParams
        requires_permission = True

        def needs_permission(self, params: Any, context: ToolContext) -> bool:
            return bool(params.path != "known")

    toolset = CallableToolset([Sometimes()], ToolContext(mode=CODING))
    assert code_of(await toolset.handle(call(arguments={"path": "known"}))) is None
    assert code_of(await toolset.handle(call(arguments={"path": "new"}))) == "APPROVAL_DENIED"


async def test_a_name_that_changes_after_registering_changes_neither_list_nor_question() -> None:
    approver = AutoApprover()
    probe = ProbeTool(requires_permission=True)
    toolset = CallableToolset([probe], ToolContext(mode=CODING, approver=approver))
    probe.name = "harmless"  # type: ignore[misc]
    probe.description = "Harmless."  # type: ignore[misc]
    probe.read_only = True
    assert [(shown.name, shown.description) for shown in toolset.tools] == [("probe", "Probes.")]
    assert not toolset.is_read_only("probe")
    assert code_of(await toolset.handle(call())) is None
    assert [request.tool_name for request in approver.requests] == ["probe"]


async def test_a_foreign_definition_that_changes_after_registering_stays_as_it_was() -> None:
    foreign = Foreign(lambda _: None, {"type": "object", "properties": {"n": {"type": "integer"}}})
    registry = ToolRegistry()
    registry.register(foreign, modes=[CODING])
    foreign.tool_definition.parameters["properties"]["n"]["type"] = "string"
    assert registry.describe()[0].parameters["properties"] == {"n": {"type": "integer"}}
    wrapped = registry.get("foreign")
    assert wrapped is not None
    wrapped.ungated = True  # type: ignore[attr-defined]
    assert code_of(await registry.toolset(CHAT, ToolContext()).handle(call("foreign"))) == "MODE_DENIED"


async def test_parameters_that_change_after_registering_stay_as_they_were() -> None:
    class Wide(BaseModel):
        anything: str = ""

    probe = ProbeTool(Params=PathParams)
    toolset = CallableToolset([probe], ToolContext(mode=CODING))
    probe.Params = Wide  # type: ignore[misc]
    assert code_of(await toolset.handle(call(arguments={"anything": "x"}))) == "INVALID_PARAM"


def test_every_built_in_tool_declares_its_group_itself() -> None:
    groups = {found.name: type(found).__dict__.get("group") for found in builtin_tools()}
    code = dict.fromkeys(groups, ToolGroup.code)
    others = {"current_time": ToolGroup.world, "memory_search": ToolGroup.memory, "memory_append": ToolGroup.memory}
    assert groups == code | others
