"""`WrittenTool`: the stored declaration of a built-in tool. The module of the tool is imported on first use."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, NamedTuple

from toolgate.errors import DeclarationError
from toolgate.protocol.calls import ToolDefinition
from toolgate.protocol.modes import ApprovalMode, ToolGroup, ToolMode
from toolgate.protocol.unvalidated import trusted
from toolgate.tools.base import Tool
from toolgate.tools.declaration import Declaration, declaration_of


class WrittenTool(NamedTuple):
    """What a tool declares, and how to make the tool."""

    declaration: Declaration
    """Without what only the module has: the model of the arguments, and a `needs_permission` of the tool's own."""
    make: Callable[[], Tool[Any]]

    def load(self) -> tuple[Tool[Any], Declaration]:
        """The tool, and what it declares. `DeclarationError` if that is not what was written down."""
        tool = self.make()
        tool.parameters = self.declaration.definition.parameters  # making them takes longer than everything else
        declared = declaration_of(tool)
        if _data(declared) != self.declaration or type(tool).resting is not Tool.resting:
            raise DeclarationError(
                f"tool {self.declaration.name!r} declares something else than what is written down about it: "
                "run scripts/tool_declarations.py"
            )
        return tool, declared


def _data(declared: Declaration) -> Declaration:
    return declared._replace(params=None, own_permission=None)


def write(declared: Declaration) -> dict[str, Any]:
    """A declaration as JSON, without its description, which is in a file of its own."""
    fields = _data(declared)._asdict()
    for code in ("params", "own_permission", "ungated", "definition"):
        del fields[code]
    modes = {name: sorted(mode.value for mode in fields[name]) for name in ("allowed_modes", "approval_modes")}
    return {**fields, **modes, "group": declared.group.value, "parameters": declared.definition.parameters}


def read(written: dict[str, Any], description: str, make: Callable[[], Tool[Any]]) -> WrittenTool:
    """The tool about which `write` was given the declaration."""
    fields = dict(written)
    definition = {"name": fields["name"], "description": description, "parameters": fields.pop("parameters")}
    fields["group"] = ToolGroup(fields["group"])
    fields["allowed_modes"] = frozenset(map(ToolMode, fields["allowed_modes"]))
    fields["approval_modes"] = frozenset(map(ApprovalMode, fields["approval_modes"]))
    fields["needs"], fields["keep_data"] = tuple(fields["needs"]), tuple(fields["keep_data"])
    return WrittenTool(
        Declaration(**fields, definition=trusted(ToolDefinition, definition), params=None, own_permission=None), make
    )
