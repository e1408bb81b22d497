"""`write_file`: creates a file or replaces all of one."""

from __future__ import annotations

import os
from typing import TYPE_CHECKING

from pydantic import BaseModel, ConfigDict, Field

from toolgate.protocol.envelope import ToolResponse
from toolgate.protocol.modes import ToolGroup, ToolMode
from toolgate.protocol.plan import Plan, Precondition
from toolgate.tools.base import Tool
from toolgate.tools.checked_change import checked_change
from toolgate.tools.context import ToolContext
from toolgate.tools.render import render_change
from toolgate.tools.text import counted, load_text
from toolgate.workspace import in_thread
from toolgate.workspace.oserrors import quote

if TYPE_CHECKING:
    from toolgate.workspace.journal_entries import Origin
    from toolgate.workspace.overwrite import Overwrite

MAX_SHOWN_DIFF = 16_000
"""Characters of a diff that the model gets back; the person who is asked sees up to 1 MiB."""
DRY_RUN = "Dry-run only, no actual write performed."


class FileWriteParams(BaseModel):
    """A file and what it shall contain."""

    model_config = ConfigDict(extra="forbid", defer_build=True)

    path: str = Field(description="The file, relative to the project root; missing directories are made.")
    content: str = Field(description="The whole new content, exactly as it shall be.")
    dry_run: bool = Field(default=False, description="Only show what would change.")


class FileWriteTool(Tool[FileWriteParams]):
    """Writes whole files, atomically and journalled."""

    name = "write_file"
    description = load_text(__file__)
    Params = FileWriteParams
    group = ToolGroup.code
    allowed_modes = frozenset({ToolMode.coding})
    requires_permission = True

    async def prepare(self, params: FileWriteParams, context: ToolContext) -> Plan:
        """The diff, and the state of the file that it was made for."""
        from toolgate.workspace.overwrite import plan_write

        guard, known = context.guard, context.state.seen_files
        workspace = context.require_workspace()
        guard.require_known(params.path, known.has)
        planned = await in_thread(plan_write, workspace, params.path, params.content, known)
        change, path = planned.change, quote(params.path)
        verb = "Create" if planned.created else "Overwrite"
        return Plan(
            summary=f"{verb} {path} (+{planned.diff.added} -{planned.diff.removed} lines)",
            detail=planned.note or planned.diff.text or f"{path} stays as it is.",
            access="write",
            resources=(change.target.path,),
            preconditions=(Precondition(resource=change.target.path, state=change.before),),
            checks_preconditions=not planned.unchanged,
            asks=not planned.seen and not params.dry_run,
            reversible=planned.reversible,
            reason="" if planned.seen else "overwrites a file that this session has not read",
            payload=planned,
        )

    async def execute(self, params: FileWriteParams, context: ToolContext) -> ToolResponse:
        """Write what was planned."""
        from toolgate.workspace.write import commit

        plan = context.plan or await self.prepare(params, context)
        planned: Overwrite = plan.payload
        details = {"path_resolved": planned.change.target.path, "encoding": planned.encoding}
        diff = planned.diff.shorter(MAX_SHOWN_DIFF)
        if params.dry_run:
            text = f"{DRY_RUN} {plan.summary}. Call again without dry_run to write it."
            return ToolResponse.partial({"applied": False, "diff": diff}, text, context=details)
        if planned.unchanged:
            text = f"{quote(params.path)} has exactly this content already: nothing had to be written."
            return ToolResponse.success({"applied": True, "diff": ""}, text, context=details)
        workspace, origin = context.require_workspace(), origin_of(context, self.name)
        written, found, note = await checked_change(
            context, plan.resources, lambda: in_thread(commit, workspace, planned.change, origin)
        )
        context.state.seen_files.remember(written.parts, written.stat, written.digest)
        stats: dict[str, int | float | str] = {"bytes": written.stat.st_size}
        text = _text(planned, params, written.stat.st_size) + note
        return ToolResponse.success({"applied": True, "diff": diff, **found}, text, stats=stats, context=details)

    def render(self, response: ToolResponse) -> str:
        """What happened, then the diff as text."""
        return render_change(response)


def origin_of(context: ToolContext, tool: str) -> Origin:
    """Which call a change belongs to, for the journal."""
    from toolgate.workspace.journal_entries import Origin

    session, run = context.session_id or "", os.urandom(16).hex()
    return Origin(session_id=session, turn_id=context.turn_id, call_id=context.call_id, tool=tool, run=run)


def _text(planned: Overwrite, params: FileWriteParams, size: int) -> str:
    path, diff = quote(params.path), planned.diff
    if planned.created:
        return f"Created {path} ({counted(diff.added, 'line')}, {counted(size, 'byte')})."
    if planned.note:
        return f"Overwrote {path} ({size} bytes). {planned.note}"
    return f"Overwrote {path} (+{diff.added} -{diff.removed} lines, now {size} bytes)."
