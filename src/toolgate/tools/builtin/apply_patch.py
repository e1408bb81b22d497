"""`apply_patch`: changes several files with one patch, all or nothing."""

from __future__ import annotations

from typing import TYPE_CHECKING, Annotated, Any

from pydantic import BaseModel, ConfigDict, Field
from pydantic.json_schema import SkipJsonSchema

from toolgate.protocol.envelope import ToolResponse
from toolgate.protocol.modes import ToolGroup, ToolMode
from toolgate.protocol.plan import Plan, Precondition
from toolgate.tools.base import Tool
from toolgate.tools.builtin.write_file import DRY_RUN, MAX_SHOWN_DIFF, origin_of
from toolgate.tools.checked_change import checked_change
from toolgate.tools.context import ToolContext
from toolgate.tools.text import load_text
from toolgate.workspace import Stop, Workspace, in_thread
from toolgate.workspace.oserrors import quote

if TYPE_CHECKING:
    from toolgate.workspace.file_guard import FileGuard
    from toolgate.workspace.patch_plan import PatchedFile, PatchPlan
    from toolgate.workspace.seen_files import SeenFiles

_LETTERS = {"added": "A", "updated": "M", "deleted": "D", "moved": "R"}
_VERBS = {"added": "add", "updated": "update", "deleted": "delete", "moved": "move"}
_MAX_NAMED = 3
"""Files that the summary names."""


class ApplyPatchParams(BaseModel):
    """A patch."""

    model_config = ConfigDict(extra="forbid", defer_build=True)

    patch: str = Field(description="The patch, from '*** Begin Patch' to '*** End Patch'.")
    dry_run: bool = Field(default=False, description="Only show what would change.")
    directory: Annotated[str, SkipJsonSchema()] = Field(
        default=".", description="Where relative paths start: the `apply_patch` command's way, not shown to models."
    )


class ApplyPatchTool(Tool[ApplyPatchParams]):
    """Changes several files as one, atomically and journalled."""

    name = "apply_patch"
    description = load_text(__file__)
    Params = ApplyPatchParams
    group = ToolGroup.code
    allowed_modes = frozenset({ToolMode.coding})
    requires_permission = True

    async def prepare(self, params: ApplyPatchParams, context: ToolContext) -> Plan:
        """Find every place that changes, and show all of it as one diff."""
        from toolgate.workspace.transaction import Removal

        workspace, known = context.require_workspace(), context.state.seen_files
        planned = await in_thread(_plan, workspace, params, known, context.guard)
        states = {change.target.path: change.before for change in planned.changes}
        unseen = ", ".join(map(quote, planned.unseen))
        return Plan(
            summary=f"Apply a patch: {_summary(planned)}",
            detail=planned.diff,
            access="write",
            resources=tuple(states),
            preconditions=tuple(Precondition(resource=path, state=state) for path, state in states.items()),
            checks_preconditions=True,
            asks=bool(planned.unseen) and not params.dry_run,
            reversible=not planned.unseen and not any(isinstance(change, Removal) for change in planned.changes),
            reason=f"overwrites what this session has not read: {unseen}" if unseen else "",
            payload=planned,
        )

    async def execute(self, params: ApplyPatchParams, context: ToolContext) -> ToolResponse:
        """Make the planned changes."""
        from toolgate.workspace.diff import shorter
        from toolgate.workspace.transaction import commit_all

        plan = context.plan or await self.prepare(params, context)
        planned: PatchPlan = plan.payload
        data: dict[str, Any] = {
            "applied": not params.dry_run,
            "files": [_document(file) for file in planned.files],
            "diff": shorter(planned.diff, MAX_SHOWN_DIFF),
        }
        if params.dry_run:
            return ToolResponse.partial(data, f"{DRY_RUN} {plan.summary}. Call again without dry_run to apply it.")
        origin, workspace = origin_of(context, self.name), context.require_workspace()
        written, found, note = await checked_change(
            context, plan.resources, lambda: in_thread(commit_all, workspace, planned.changes, origin)
        )
        known = context.state.seen_files
        for one in written:
            if one is not None and known.has(one.parts):
                known.remember(one.parts, one.stat, one.digest)
        counts = f"+{planned.added} -{planned.removed} lines"
        lines = [f"Applied the patch ({counts}):", *map(_line, planned.files)]
        return ToolResponse.success({**data, **found}, "\n".join(lines) + note, stats={"files": len(planned.files)})

    def render(self, response: ToolResponse) -> str:
        """What was done to which file; what would be done, as a diff; why a hunk does not fit, with what is there."""
        if response.error is not None:
            near = response.data.get("nearest", {}).get("text")
            return f"{response.text}\n{near}" if near else response.text
        return response.text if response.data.get("applied") else f"{response.text}\n{response.data.get('diff', '')}"


def _plan(stop: Stop, workspace: Workspace, params: ApplyPatchParams, known: SeenFiles, guard: FileGuard) -> PatchPlan:
    from toolgate.workspace.patch import parse_patch
    from toolgate.workspace.patch_plan import plan_patch

    sections = parse_patch(params.patch)
    for section in sections:
        for path in filter(None, (section.path, section.move_to)):
            guard.require_known(workspace.relative(path, params.directory), known.has)
    return plan_patch(stop, workspace, sections, known, params.directory)


def _document(file: PatchedFile) -> dict[str, str]:
    found = {"path": file.path, "action": file.action}
    return {**found, "from": file.moved_from} if file.moved_from else found


def _line(file: PatchedFile) -> str:
    return f"{_LETTERS[file.action]} {file.moved_from + ' -> ' if file.moved_from else ''}{file.path}"


def _summary(planned: PatchPlan) -> str:
    named = [_named(file) for file in planned.files[:_MAX_NAMED]]
    rest = len(planned.files) - _MAX_NAMED
    more = f" and {rest} more {'file' if rest == 1 else 'files'}" if rest > 0 else ""
    return f"{', '.join(named)}{more} (+{planned.added} -{planned.removed} lines)"


def _named(file: PatchedFile) -> str:
    if file.moved_from:
        return f"move {quote(file.moved_from)} to {quote(file.path)}"
    return f"{_VERBS[file.action]} {quote(file.path)}"
