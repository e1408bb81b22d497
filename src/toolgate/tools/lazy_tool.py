"""`LazyTool`: a built-in tool known by its stored declaration. Its module is imported on first use."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, NamedTuple

from toolgate.errors import DeclarationError
from toolgate.protocol.calls import ToolDefinition
from toolgate.protocol.modes import ApprovalMode, ToolGroup, ToolMode
from toolgate.protocol.unvalidated import trusted
from toolgate.tools.base import Tool
from toolgate.tools.declaration import Declaration, declaration_of


class LazyTool(NamedTuple):
    """The stored declaration of a tool, and the function that creates the tool."""

    declaration: Declaration
    """Without the model of the arguments and a `needs_permission` of the tool's own: only the module has these."""
    make: Callable[[], Tool[Any]]

    def load(self) -> tuple[Tool[Any], Declaration]:
        """Create the tool; return it with its complete declaration. `DeclarationError` if the stored one differs."""
        tool = self.make()
        tool.parameters = self.declaration.definition.parameters  # to generate them takes long
        declared = declaration_of(tool)
        if _storable(declared) != self.declaration or type(tool).resting is not Tool.resting:
            raise DeclarationError(
                f"tool {self.declaration.name!r} does not declare what is stored about it in declarations.json: "
                "run scripts/tool_declarations.py"
            )
        return tool, declared


def _storable(declared: Declaration) -> Declaration:
    """The declaration without its code, which JSON cannot hold."""
    return declared._replace(params=None, own_permission=None)


def declaration_to_json(declared: Declaration) -> dict[str, Any]:
    """The declaration as JSON. The description is left out: it is in the `.md` file of the tool."""
    fields = _storable(declared)._asdict()
    for code in ("params", "own_permission", "ungated", "definition"):
        del fields[code]
    modes = {name: sorted(mode.value for mode in fields[name]) for name in ("allowed_modes", "approval_modes")}
    return {**fields, **modes, "group": declared.group.value, "parameters": declared.definition.parameters}


def lazy_tool(document: dict[str, Any], description: str, make: Callable[[], Tool[Any]]) -> LazyTool:
    """The tool whose declaration `declaration_to_json` has stored; `make` creates it."""
    fields = dict(document)
    definition = {"name": fields["name"], "description": description, "parameters": fields.pop("parameters")}
    fields["group"] = ToolGroup(fields["group"])
    fields["allowed_modes"] = frozenset(map(ToolMode, fields["allowed_modes"]))
    fields["approval_modes"] = frozenset(map(ApprovalMode, fields["approval_modes"]))
    fields["needs"], fields["keep_data"] = tuple(fields["needs"]), tuple(fields["keep_data"])
    return LazyTool(
        Declaration(**fields, definition=trusted(ToolDefinition, definition), params=None, own_permission=None), make
    )
