"""`edit_notebook`: replaces, inserts or deletes one cell of a notebook."""

from __future__ import annotations

from typing import TYPE_CHECKING, Literal

from pydantic import BaseModel, ConfigDict, Field

from toolgate.errors import ToolError
from toolgate.protocol.codes import ErrorCode
from toolgate.protocol.envelope import ToolResponse
from toolgate.protocol.modes import ToolGroup, ToolMode
from toolgate.protocol.plan import Plan, Precondition
from toolgate.tools.base import Tool
from toolgate.tools.builtin.write_file import DRY_RUN, MAX_SHOWN_DIFF, origin_of
from toolgate.tools.context import ToolContext
from toolgate.tools.render import render_change
from toolgate.tools.text import load_text
from toolgate.workspace import in_thread
from toolgate.workspace.oserrors import quote

if TYPE_CHECKING:
    from toolgate.workspace.notebook import EditedNotebook
    from toolgate.workspace.notebook_text import CellEdit


class NotebookEditParams(BaseModel):
    """A cell and what shall become of it."""

    model_config = ConfigDict(extra="forbid", defer_build=True)

    path: str = Field(description="The notebook, relative to the project root.")
    cell: int = Field(ge=0, description="The cell; the number of cells to insert at the end.")
    action: Literal["replace", "insert", "delete"] = Field(default="replace", description="What to do.")
    source: str | None = Field(default=None, description="The new source of the cell.")
    cell_type: Literal["code", "markdown", "raw"] | None = Field(
        default=None, description="The type of the cell; by default the same, or code."
    )
    dry_run: bool = Field(default=False, description="Only show what would change.")


class NotebookEditTool(Tool[NotebookEditParams]):
    """Edits cells of notebooks, atomically and journalled."""

    name = "edit_notebook"
    description = load_text(__file__)
    Params = NotebookEditParams
    group = ToolGroup.code
    allowed_modes = frozenset({ToolMode.coding})
    requires_permission = True
    deferred = True

    async def prepare(self, params: NotebookEditParams, context: ToolContext) -> Plan:
        """Find the cell, and show the change of its source as a diff."""
        from toolgate.workspace.notebook import plan_cell_edit

        context.guard.require_known(params.path, context.state.seen_files.has)
        workspace = context.require_workspace()
        planned = await in_thread(plan_cell_edit, workspace, params.path, _edit(params), context.state.seen_files)
        change, what = planned.change, planned.made.summary
        return Plan(
            summary=f"Edit {quote(params.path)}: {what}",
            detail=f"{what[:1].upper()}{what[1:]}.\n{planned.diff.text}",
            access="write",
            resources=(change.target.path,),
            preconditions=(Precondition(resource=change.target.path, state=change.before),),
            checks_preconditions=True,
            asks=not planned.seen and not params.dry_run,
            reversible=planned.reversible,
            reason="" if planned.seen else "changes a notebook that this session has not read",
            payload=planned,
        )

    async def execute(self, params: NotebookEditParams, context: ToolContext) -> ToolResponse:
        """Write what was planned."""
        from toolgate.workspace.write import commit

        plan = context.plan or await self.prepare(params, context)
        planned: EditedNotebook = plan.payload
        details = {"path_resolved": planned.change.target.path}
        cells = planned.made.cells
        data = {"applied": not params.dry_run, "cells": cells, "diff": planned.diff.shorter(MAX_SHOWN_DIFF)}
        if params.dry_run:
            text = f"{DRY_RUN} {plan.summary}. Call again without dry_run to make the change."
            return ToolResponse.partial(data, text, context=details)
        seen = context.state.seen_files
        workspace, origin = context.require_workspace(), origin_of(context, self.name)
        written = await in_thread(commit, workspace, planned.change, origin)
        if seen.has(written.parts):
            seen.remember(written.parts, written.stat, written.digest)
        text = f"{plan.summary}. The notebook now has {cells} cells."
        return ToolResponse.success(data, text, stats={"bytes": written.stat.st_size}, context=details)

    def render(self, response: ToolResponse) -> str:
        """What happened, then the diff as text."""
        return render_change(response)


def _edit(params: NotebookEditParams) -> CellEdit:
    from toolgate.workspace.notebook_text import CellEdit

    if (params.source is None) != (params.action == "delete"):
        problem = "is not used" if params.action == "delete" else "is missing (a string is needed)"
        raise ToolError(
            ErrorCode.INVALID_PARAM,
            f"Invalid parameters for 'edit_notebook': source {problem} with action {params.action!r}.",
            "Pass the new source to replace or insert, and none to delete.",
        )
    source = params.source or ""
    try:
        source.encode()
    except UnicodeEncodeError:
        raise ToolError(
            ErrorCode.INVALID_PARAM, "The source contains a lone surrogate.", "Send valid Unicode."
        ) from None
    return CellEdit(action=params.action, cell=params.cell, source=source, cell_type=params.cell_type)
