"""`read_file`: a window of lines of a text file, or a picture, a PDF file or a notebook."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from pydantic import BaseModel, ConfigDict, Field, model_validator

from toolgate.errors import ToolError
from toolgate.protocol.codes import ErrorCode
from toolgate.protocol.envelope import ToolResponse
from toolgate.protocol.modes import ToolGroup, ToolMode
from toolgate.protocol.plan import Plan
from toolgate.tools.base import Tool
from toolgate.tools.builtin.read_document import is_asked_for, read_as_document
from toolgate.tools.context import ToolContext
from toolgate.tools.secrets import allowed_secrets, reveals_plan
from toolgate.tools.text import counted, load_text
from toolgate.workspace import in_thread
from toolgate.workspace.oserrors import quote

if TYPE_CHECKING:
    from toolgate.workspace.read import Window

WINDOW_FACTOR = 8
"""A window holds this many times TOOL_OUTPUT_MAX_BYTES: it pages by itself, and a page should not be cut twice."""
_MAX_WINDOW = 38_000
"""Bytes of a page: Codex and Gemini CLI cut the middle out of answers above 40,000, what they add included."""
_MAX_LINES = 1_000_000


class FileReadParams(BaseModel):
    """Which lines of which file."""

    model_config = ConfigDict(extra="forbid", defer_build=True)

    path: str = Field(description="The file, relative to the project root.")
    start_line: int = Field(
        default=1, description="The first line to return; lines count from 1, and from the end if negative (-50)."
    )
    limit: int = Field(default=2000, ge=1, description="How many lines to return at the most.")
    pages: str = Field(default="", description="Of a PDF: the pages, such as '3-5'.")
    pictures: bool = Field(default=False, description="Of a PDF: show the pages as pictures.")
    paths: list[str] = Field(default=[], max_length=19, description="Further files.")

    @model_validator(mode="before")
    @classmethod
    def _first_of_paths(cls, given: Any) -> Any:
        """Take the first of `paths` as `path` if there is none: models often name several files only there.

        It stays in `paths`, so that it passes every gate by its own path, as the others do.
        """
        if isinstance(given, dict) and "path" not in given and isinstance(given.get("paths"), list) and given["paths"]:
            return {**given, "path": given["paths"][0]}
        return given


class FileReadTool(Tool[FileReadParams]):
    """Reads a text file page by page."""

    name = "read_file"
    description = load_text(__file__)
    Params = FileReadParams
    group = ToolGroup.code
    allowed_modes = frozenset({ToolMode.coding})
    read_only = True
    idempotent = True

    async def prepare(self, params: FileReadParams, context: ToolContext) -> Plan | None:
        """Whether the file may hold secrets, so that a person is asked. Of several files, each one asks by itself."""
        return None if params.paths else reveals_plan(context.for_path(params.path), "Read", params.path)

    async def execute(self, params: FileReadParams, context: ToolContext) -> ToolResponse:
        """Read the window, or the document, and remember what was seen."""
        if params.paths:
            from toolgate.tools.builtin.read_several import read_several

            return await read_several(self, params, context)
        context = context.for_path(params.path)
        if params.start_line == 0:
            raise ToolError(
                ErrorCode.INVALID_PARAM,
                "Invalid parameters for 'read_file': start_line: lines count from 1 (or from -1 at the end).",
                "Pass start_line=1 for the beginning.",
            )
        if is_asked_for(params) and (answer := await read_as_document(params, context)) is not None:
            return answer
        try:
            return await self._lines(params, context)
        except ToolError as error:
            if error.code is not ErrorCode.BINARY_FILE or (answer := await read_as_document(params, context)) is None:
                raise
            return answer

    async def _lines(self, params: FileReadParams, context: ToolContext) -> ToolResponse:
        """Read a window of lines."""
        from toolgate.workspace.read import read_first_page, read_window

        budget = min(WINDOW_FACTOR * context.settings.tool_output.max_bytes, _MAX_WINDOW)
        known = context.state.seen_files
        workspace, limit = context.require_workspace(), min(params.limit, _MAX_LINES)
        window = read_first_page(workspace, params.path, limit, budget) if params.start_line == 1 else None
        if window is None:
            window = await in_thread(read_window, workspace, params.path, params.start_line, limit, budget)
        context.guard.require(params.path, window.stat, allowed_secrets(context))
        parts = workspace.locate(params.path).parts
        known.remember(parts, window.stat, window.digest)
        data = {"content": window.numbered(), "truncated": _is_partial(window)}
        stats: dict[str, int | float | str] = {"lines": len(window.lines), "file_bytes": window.stat.st_size}
        if window.total_lines is not None:
            stats["total_lines"] = window.total_lines
        details = {
            "path_resolved": "/".join(parts),
            "encoding": window.encoding,
            "line_ends": "crlf" if window.crlf else "lf",
            "truncation_skip": True,
        }
        build = ToolResponse.partial if data["truncated"] else ToolResponse.success
        return build(data, _text(window, params), stats=stats, context=details)

    def render(self, response: ToolResponse) -> str:
        """The lines as they are, after what there is to say about them."""
        content = response.data.get("content")
        return f"{response.text}\n{content}" if content else response.text


def _is_partial(window: Window) -> bool:
    return window.more or bool(window.clipped) or window.searched is not None or window.hole is not None


def _text(window: Window, params: FileReadParams) -> str:
    path = quote(params.path)
    if window.searched is not None:
        from toolgate.workspace.read import PATIENCE

        return (
            f"Line {window.start_line} of {path} was not reached within {PATIENCE:g} s: {window.searched} lines lie "
            "before the place where the search ended. Repeat the call: it goes on from there."
        )
    sentences = [_what(window, path)]
    if window.confidence < 1:
        sentences.append(f"It is not UTF-8 and was read as {window.encoding} ({window.confidence:.0%} sure).")
    if window.clipped:
        lines = ", ".join(map(str, window.clipped[:10])) + (", …" if len(window.clipped) > 10 else "")
        sentences.append(f"Over-long lines were clipped ({lines}); use a command such as 'cut -c' to see them whole.")
    if window.more:
        following = window.start_line + len(window.lines)
        sentences.append(f"More lines follow: use start_line={following} to read on.")
    elif window.hole is not None:
        sentences.append(
            f"The file has a hole at byte {window.hole} (nothing was ever written there), and reading ends at it: "
            f"the file is {window.stat.st_size} bytes long. Use a command such as 'tail -c' for the rest."
        )
    return " ".join(sentences)


def _what(window: Window, path: str) -> str:
    total = window.total_lines
    if not window.lines:
        if total == 0:
            return f"{path} is empty."
        if total is None:
            return f"{path} has nothing to show at line {window.start_line}."
        has = f"{path} has {counted(total, 'line')}"
        return f"{has}; line {window.start_line} is past its end, so there is nothing to show."
    last = window.start_line + len(window.lines) - 1
    if window.start_line == 1 and last == total:
        return f"Read the only line of {path}." if total == 1 else f"Read all {total} lines of {path}."
    known = f" (of {total})" if total is not None else ""
    which = f"line {last}" if window.start_line == last else f"lines {window.start_line}-{last}"
    return f"Read {which}{known} of {path}."
