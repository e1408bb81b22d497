"""`glob`: the files whose paths match a pattern."""

from __future__ import annotations

import time
from typing import TYPE_CHECKING, Any

from pydantic import BaseModel, ConfigDict, Field

from toolgate.errors import ToolError
from toolgate.protocol.codes import ErrorCode
from toolgate.protocol.envelope import ToolResponse
from toolgate.protocol.modes import ToolGroup, ToolMode
from toolgate.tools.base import Tool
from toolgate.tools.context import ToolContext
from toolgate.tools.search_text import ignored_note, left_out_note, unreadable_note
from toolgate.tools.text import load_text
from toolgate.workspace import Stop, Workspace, in_thread
from toolgate.workspace.oserrors import quote

if TYPE_CHECKING:
    from toolgate.search.python_glob import GlobResult

SECONDS = 8.0
"""How long one call may walk."""


class GlobParams(BaseModel):
    """Arguments of `glob`."""

    model_config = ConfigDict(extra="forbid", defer_build=True)

    pattern: str = Field(
        min_length=1,
        max_length=4096,
        description="Pattern of the paths to find, relative to 'path': '*' and '?' inside a name, '**' across "
        "directories, '[a-z]', '{a,b}', '\\' before a character to take it literally.",
    )
    path: str = Field(default=".", description="Directory to look below, relative to the project root.")
    limit: int = Field(default=200, ge=1, le=100_000, description="Paths to return at the most.")
    include_ignored: bool = Field(default=False, description="Also return files that .gitignore excludes.")


class GlobTool(Tool[GlobParams]):
    """Finds files by their paths, without following links."""

    name = "glob"
    description = load_text(__file__)
    Params = GlobParams
    group = ToolGroup.code
    allowed_modes = frozenset({ToolMode.coding})
    read_only = True
    idempotent = True

    async def execute(self, params: GlobParams, context: ToolContext) -> ToolResponse:
        """Walk and match."""
        params, context = _at(params, context)
        workspace = context.require_workspace()
        relative = workspace.relative(params.path)
        settings = context.settings
        files = await in_thread(_find, workspace, params, settings.tool_output.dir, settings.shell.ripgrep)
        literally = ""
        if not files.total and files.complete and "[" in params.pattern and "\\" not in params.pattern:
            literally = params.pattern.replace("[", "\\[").replace("]", "\\]")
            again = params.model_copy(update={"pattern": literally})
            files = await in_thread(_find, workspace, again, settings.tool_output.dir, settings.shell.ripgrep)
        if not files.complete and not files.paths:
            raise ToolError(
                ErrorCode.TIMEOUT,
                f"Nothing was found within {SECONDS:g} seconds, and the tree was not walked to its end.",
                "Start the pattern with a directory, or pass a 'path' further down.",
            )
        shown = context.guard.listed(files.paths, params.path)
        left_out, files.paths = len(files.paths) - len(shown), shown
        files.total -= left_out
        truncated = not files.complete or len(files.paths) < files.total
        data: dict[str, Any] = {"paths": files.paths, "truncated": truncated}
        build = ToolResponse.partial if truncated or files.unreadable or files.too_deep else ToolResponse.success
        return build(
            data,
            _text(params, relative, files, literally if files.total else "") + left_out_note(left_out),
            stats={"total_paths": files.total, "total_matches": files.total},
            context={"path_resolved": relative},
        )


def _at(params: GlobParams, context: ToolContext) -> tuple[GlobParams, ToolContext]:
    """The call in the further directory that the path or an absolute pattern names, if it names one."""
    pattern = params.pattern
    fixed = pattern[: min((pattern.find(mark) for mark in "*?[{\\" if mark in pattern), default=len(pattern))]
    there = context.for_path(fixed) if fixed.startswith("/") and "\0" not in fixed else context
    if there is context:
        return params, context.for_path(params.path)
    return params.model_copy(update={"path": there.require_workspace().relative(".")}), there


def _find(stop: Stop, workspace: Workspace, params: GlobParams, output_dir: str, ripgrep: str | None) -> GlobResult:
    from toolgate.process.streaming import Bounds
    from toolgate.search import glob_search as files
    from toolgate.search.globs import GlobError
    from toolgate.search.python_glob import Pattern, alternatives

    bounds = Bounds(deadline=time.monotonic() + SECONDS, stop=stop)
    if "\0" in params.pattern:
        raise _bad("it contains a NUL character")
    try:
        choices = alternatives(workspace, params.path, params.pattern)
        path = params.path  # as it was typed: errors quote it
        relative = workspace.relative(path)
        base = [] if relative == "." else relative.split("/")
        if any(choice[: len(base)] != base for choice in choices):  # '..' or an absolute pattern led elsewhere
            path, base = ".", list(workspace.prefix)
        pattern = Pattern([choice[len(base) :] for choice in choices if len(choice) > len(base)])
    except GlobError as error:
        raise _bad(str(error)) from None
    return files.find(
        workspace,
        path,
        pattern,
        limit=params.limit,
        include_ignored=params.include_ignored,
        output_dir=output_dir,
        setting=ripgrep,
        bounds=bounds,
    )


def _bad(reason: str) -> ToolError:
    return ToolError(
        ErrorCode.INVALID_PARAM,
        f"'pattern' is not a valid glob: {reason}.",
        "For example: '**/*.py', 'src/**/test_*.{ts,tsx}'.",
    )


def _text(params: GlobParams, relative: str, files: GlobResult, literally: str) -> str:
    shown = len(files.paths)
    parts = [f"Found {files.total} {'file' if files.total == 1 else 'files'} for {quote(params.pattern)}"]
    parts[0] += f" in {quote(relative)}" if relative != "." else ""
    parts[0] += f", showing the first {shown}." if shown < files.total else "."
    if literally:
        parts.append(f"The brackets were read as part of the names ({quote(literally)}): as a set they match nothing.")
    if not files.complete:
        parts.append(f"The walk was stopped after {SECONDS:g} seconds: there may be more.")
    if not params.include_ignored:
        parts.append(ignored_note("listed", ()))
    parts += unreadable_note(files.unreadable, files.too_deep)
    if shown < files.total or not files.complete:
        parts.append("Narrow the pattern or the path, or pass a larger limit.")
    elif not files.total:
        parts.append("Only files are listed; check the pattern with 'ls', or begin it with '**/' to look further down.")
    return " ".join(parts)
