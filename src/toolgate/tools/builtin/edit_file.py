"""`edit_file`: replaces exact text in a file."""

from __future__ import annotations

from typing import TYPE_CHECKING, Annotated, Any

from pydantic import BaseModel, ConfigDict, Field
from pydantic.json_schema import SkipJsonSchema

from toolgate.errors import ToolError
from toolgate.protocol.codes import ErrorCode
from toolgate.protocol.envelope import ToolResponse
from toolgate.protocol.modes import ToolGroup, ToolMode
from toolgate.protocol.plan import Plan, Precondition
from toolgate.tools.base import Tool
from toolgate.tools.builtin.write_file import DRY_RUN, MAX_SHOWN_DIFF, origin_of
from toolgate.tools.checked_change import checked_change
from toolgate.tools.context import ToolContext
from toolgate.tools.render import render_change
from toolgate.tools.text import load_text
from toolgate.workspace import in_thread
from toolgate.workspace.oserrors import quote

if TYPE_CHECKING:
    from toolgate.workspace.edit import Edit, PlannedEdit
    from toolgate.workspace.write import Written


class EditItem(BaseModel):
    """One of several replacements."""

    model_config = ConfigDict(extra="forbid", defer_build=True)

    old_string: str = Field(description="The exact text to be replaced.")
    new_string: str = Field(description="What takes its place.")
    replace_all: bool = Field(default=False, description="Replace every occurrence instead of exactly one.")


class FileEditParams(BaseModel):
    """A file and what to replace in it: one replacement, or `edits`."""

    model_config = ConfigDict(extra="forbid", defer_build=True)

    path: str = Field(description="The file, relative to the project root.")
    old_string: str | None = Field(default=None, description="The exact text to be replaced; it must be unique.")
    new_string: str | None = Field(default=None, description="What takes its place; empty to delete the text.")
    replace_all: bool = Field(default=False, description="Replace every occurrence instead of exactly one.")
    dry_run: bool = Field(default=False, description="Only show what would change.")
    edits: list[EditItem] | None = Field(
        default=None,
        min_length=1,
        max_length=1000,
        description="Several replacements instead of old_string and new_string, in order, all or nothing.",
    )
    first_only: Annotated[bool, SkipJsonSchema()] = Field(
        default=False, description="Take the first occurrence: the `edit` command's way, not shown to models."
    )


class FileEditTool(Tool[FileEditParams]):
    """Edits files by exact replacement, atomically and journalled."""

    name = "edit_file"
    description = load_text(__file__)
    Params = FileEditParams
    group = ToolGroup.code
    allowed_modes = frozenset({ToolMode.coding})
    requires_permission = True

    async def prepare(self, params: FileEditParams, context: ToolContext) -> Plan:
        """Find what is to be replaced, and show it as a diff."""
        seen = context.state.seen_files
        from toolgate.workspace.edit import plan_at_once, plan_edit

        edits, guard, workspace = _edits(params), context.guard, context.require_workspace()
        guard.require_known(params.path, seen.has)
        planned = plan_at_once(workspace, params.path, edits, seen)
        if planned is None:
            planned = await in_thread(plan_edit, workspace, params.path, edits, seen)
        change = planned.change
        return Plan(
            summary=f"Edit {quote(params.path)} ({planned.replacements_text})",
            detail=planned.diff.text,
            access="write",
            resources=(change.target.path,),
            preconditions=(Precondition(resource=change.target.path, state=change.before),),
            checks_preconditions=True,
            reversible=planned.reversible,
            payload=planned,
        )

    async def execute(self, params: FileEditParams, context: ToolContext) -> ToolResponse:
        """Write what was planned."""
        from toolgate.workspace.write import commit

        plan = context.plan or await self.prepare(params, context)
        planned: PlannedEdit = plan.payload
        written: Written | None = None
        found: dict[str, Any] = {}
        note = ""
        origin, seen = origin_of(context, self.name), context.state.seen_files
        if not params.dry_run:
            written, found, note = await checked_change(
                context, plan.resources, lambda: in_thread(commit, context.require_workspace(), planned.change, origin)
            )
        diff = planned.diff.shorter(MAX_SHOWN_DIFF)
        data = {"applied": written is not None, "replacements": planned.replacements, "diff": diff, **found}
        details = {"path_resolved": planned.change.target.path}
        if written is None:
            text = f"{DRY_RUN} {plan.summary}. Call again without dry_run to make the change."
            return ToolResponse.partial(data, text, context=details)
        if seen.has(written.parts):  # an edit shows only a part, so it does not count as reading the file
            seen.remember(written.parts, written.stat, written.digest)
        text = f"Edited {quote(params.path)}: {planned.replacements_text}, now {written.stat.st_size} bytes."
        stats: dict[str, int | float | str] = {"bytes": written.stat.st_size}
        return ToolResponse.success(data, text + note, stats=stats, context=details)

    def render(self, response: ToolResponse) -> str:
        """What happened, then the diff as text."""
        return render_change(response)


def _edits(params: FileEditParams) -> list[Edit]:
    from toolgate.workspace.edit import Edit

    single = {"old_string": params.old_string, "new_string": params.new_string}
    if params.edits is not None:
        extra = [name for name, value in single.items() if value is not None]
        if extra:
            raise _usage(f"{' and '.join(extra)} cannot be combined with edits")
        return [Edit(old=item.old_string, new=item.new_string, replace_all=item.replace_all) for item in params.edits]
    if params.old_string is None or params.new_string is None:
        missing = [name for name, value in single.items() if value is None]
        raise _usage(f"{' and '.join(missing)}: missing (a string is needed)")
    return [
        Edit(
            old=params.old_string,
            new=params.new_string,
            replace_all=params.replace_all,
            first_only=params.first_only and not params.replace_all,
        )
    ]


def _usage(problem: str) -> ToolError:
    return ToolError(
        ErrorCode.INVALID_PARAM,
        f"Invalid parameters for 'edit_file': {problem}.",
        'Pass old_string and new_string, or edits=[{"old_string": "…", "new_string": "…"}].',
    )
