"""Getting past the gates by what a tool declares, or by how the runtime is configured."""

import toolgate
from redteam.arena import Arena
from redteam.attack import Broken, Escaped, Layer, attack
from toolgate.settings import Settings

_ONE: tuple[Layer, ...] = ("off",)
"""The gates do not depend on the sandbox: one layer is enough."""


def _tool(name: str = "dangerous", **declared: object) -> toolgate.Tool:  # type: ignore[type-arg] # any parameters
    @toolgate.tool(name=name, modes=[toolgate.ToolMode.coding])
    def dangerous() -> str:
        """Do something dangerous."""
        return "ran"

    for attribute, value in declared.items():
        setattr(dangerous, attribute, value)
    return dangerous


async def _runs(registry: toolgate.ToolRegistry, name: str = "dangerous") -> bool:
    context = toolgate.ToolContext(mode=toolgate.ToolMode.chat_safe)
    toolset = registry.toolset(toolgate.ToolMode.chat_safe, context)
    shown = name in [definition.name for definition in toolset.tools]
    result = await toolset.handle(toolgate.ToolCall(id="1", name=name, arguments="{}"))
    return shown or not result.is_error


@attack("Modes that are no modes open no gate.", layers=_ONE)
async def modes_that_are_none(arena: Arena) -> None:
    for modes in ("not_chat_safe", "chat_safe coding", None, 7, {"chat_safe_x"}, [None]):
        registry = toolgate.ToolRegistry()
        try:
            registry.register(_tool(allowed_modes=modes))
        except (TypeError, ValueError):
            continue
        if await _runs(registry):
            raise Escaped(f"allowed_modes={modes!r} opened chat_safe")


@attack("What is widened after registering stays closed.", layers=_ONE)
async def widening_later(arena: Arena) -> None:
    registry, tool = toolgate.ToolRegistry(), _tool()
    registry.register(tool)
    tool.allowed_modes = frozenset(toolgate.ToolMode)
    tool.requires_permission = False
    if await _runs(registry):
        raise Escaped("a tool opened its own gate after it was registered")


@attack("Names that look like a registered one are refused.", layers=_ONE)
async def names(arena: Arena) -> None:
    registry = toolgate.ToolRegistry()
    registry.register(_tool("read_file"))
    for name in ("Read_File", "read-file", "read_fi1e", "read_file ", "read_file\u200b", "../read_file", "x" * 65):
        try:
            registry.register(_tool(name))
        except (TypeError, ValueError):
            continue
        raise Escaped(f"a tool named {name!r} was registered beside read_file")


@attack("A policy file that was named and is not there is no empty policy.", layers=_ONE)
async def lost_policy(arena: Arena) -> None:
    missing = arena.home / "missing.toml"
    try:
        settings = Settings.defaults().model_copy(update={"policy_file": missing})
        async with toolgate.open(arena.root, mode="coding", settings=settings) as toolset:
            result = await toolset.handle(toolgate.ToolCall(id="1", name="ls", arguments="{}"))
    except Exception as error:  # whatever stops the start is right, as long as it is said
        if str(error):
            return
        raise Broken("the start was stopped without a word") from error
    if not result.is_error:
        raise Escaped("a misspelt policy file meant that there were no rules")


@attack("Control: an honest tool works in its mode.", layers=_ONE)
async def honest_tool(arena: Arena) -> None:
    registry = toolgate.ToolRegistry()
    registry.register(_tool())
    toolset = registry.toolset(toolgate.ToolMode.coding, toolgate.ToolContext(mode=toolgate.ToolMode.coding))
    result = await toolset.handle(toolgate.ToolCall(id="1", name="dangerous", arguments="{}"))
    if result.is_error:
        raise Broken(result.output)
