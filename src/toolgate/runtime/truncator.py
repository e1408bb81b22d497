"""Cuts outputs that are too long for a model, says so, and keeps the full output in a file."""

from __future__ import annotations

import time
from collections.abc import Sequence
from typing import TYPE_CHECKING, Any, cast

from toolgate.errors import ToolError
from toolgate.log import logger
from toolgate.protocol.choices import TRUNCATIONS
from toolgate.protocol.envelope import ErrorInfo, Status, ToolResponse
from toolgate.runtime import output_file, preview
from toolgate.runtime.preview import Limits, count_bytes, count_lines
from toolgate.workspace.threads import Stop

if TYPE_CHECKING:
    from toolgate.protocol.ports import Clock
    from toolgate.settings import ToolOutputSettings
    from toolgate.workspace import Workspace
    from toolgate.workspace.output_store import OutputStore

HARD_CAP = 1 << 20
"""Bytes up to which a tool that pages by itself (`context.truncation_skip`) is left alone."""
_OWN_TEXT = 300
"""Characters of the tool's own summary that are repeated where the preview does not show it."""
_MAX_MESSAGE = 2000
"""Characters that are kept of an error message that is itself over the limit."""


class Truncator:
    """Cuts outputs over the limits. Without a workspace there is no file to keep the whole output in."""

    def __init__(self, settings: ToolOutputSettings, workspace: Workspace | None, clock: Clock | None = None) -> None:
        self._settings = settings
        self._limits = Limits(lines=settings.max_lines, bytes=settings.max_bytes)
        # a text with this many characters fits, whatever characters they are
        self._surely_fits = min(settings.max_lines, settings.max_bytes // 4)
        self._workspace = workspace
        self._clock = clock if clock is not None else cast("Clock", time)
        self._store: OutputStore | None = None

    def apply(self, tool_name: str, direction: str, response: ToolResponse, output: str) -> tuple[ToolResponse, str]:
        """The envelope and the output as they are, or cut; blocks while the file is written."""
        if not self.needs_cut(response, output):
            return response, output
        return self.cut(tool_name, direction, response, output)

    def needs_cut(self, response: ToolResponse, output: str) -> bool:
        """Whether the output is over the limits that apply to it."""
        if len(output) <= self._surely_fits:
            return False
        return _exceeds(output, self._limits_for(response))

    def cut(
        self,
        tool_name: str,
        direction: str,
        response: ToolResponse,
        output: str,
        stop: Stop | None = None,
        *,
        keep_data: Sequence[str] = (),
    ) -> tuple[ToolResponse, str]:
        """The cut envelope and what the model reads: its text, then the preview. Blocks while the file is written.

        `keep_data` names the members of `data` that stay.
        """
        output = _encodable(output)
        limits = self._limits_for(response)
        used, shown = preview.cut(output, self._settings.direction or direction, limits)
        path, layout, problem = self._keep(tool_name, response, output, stop or Stop())
        lines = count_lines(output)
        truncation: dict[str, Any] = {
            "direction": used,
            "max_lines": limits.lines,
            "max_bytes": limits.bytes,
            "original_lines": lines,
            "original_bytes": count_bytes(output),
            "kept_lines": min(count_lines(shown), lines),  # markers are lines of the preview only
            "kept_bytes": count_bytes(shown),
            "full_output_path": path,
        }
        start = layout.line_of(*preview.first_hidden(used, shown, output))
        sentences = [
            _what_happened(tool_name, truncation),
            *_where(path, layout, problem, whole="full_output" not in keep_data or "full_output" not in response.data),
            self._next_step(path, start),
        ]
        text = _own_text(response, shown) + " ".join(sentences)
        kept = {key: response.data[key] for key in keep_data if key in response.data}
        data = {**kept, "truncated": True, "truncation": truncation, "preview": shown}
        return _envelope(response, data, text, limits), f"{text}\n\n{shown}"

    def _limits_for(self, response: ToolResponse) -> Limits:
        if response.context.get("truncation_skip") is True:
            return Limits(lines=HARD_CAP, bytes=HARD_CAP)  # no text has more lines than bytes
        return self._limits

    def _keep(
        self, tool_name: str, response: ToolResponse, output: str, stop: Stop
    ) -> tuple[str | None, output_file.Layout, str]:
        """Store the full output; return its path and layout. Without a path, the reason why it cannot be kept."""
        if self._workspace is None:
            return None, output_file.Layout(), "this session has no workspace"
        if self._store is None:
            from toolgate.workspace.output_store import OutputStore

            self._store = OutputStore(self._workspace, self._settings.dir, self._settings.retention_days)
        try:
            with self._store.create(tool_name, self._clock.time()) as (path, file):
                layout = output_file.write(file, response, output, stop)
            return path, layout, ""
        except ToolError as error:
            problem = error.message
        except (ValueError, TypeError, RecursionError) as error:
            problem = f"the envelope is not JSON ({type(error).__name__})"
        logger("truncator").warning("tool_output_not_kept", tool_name=tool_name, reason=problem)
        return None, output_file.Layout(), problem

    def _next_step(self, path: str | None, start_line: int) -> str:
        if path is None:
            return "Next: call again for less at a time (a narrower path or pattern, a smaller range or limit)."
        return f"Next: read_file(path='{path}', start_line={start_line}), or grep with the same path."


def _exceeds(output: str, limits: Limits) -> bool:
    if len(output) > limits.bytes:
        return True
    if len(output) > limits.lines and count_lines(output) > limits.lines:  # no text has more lines than characters
        return True
    return not output.isascii() and count_bytes(_encodable(output)) > limits.bytes


def _encodable(output: str) -> str:
    """The output with lone surrogates, which UTF-8 cannot say, written as escapes."""
    try:
        count_bytes(output)
    except UnicodeEncodeError:
        return output.encode("utf-8", "backslashreplace").decode()
    return output


def _own_text(response: ToolResponse, shown: str) -> str:
    """The tool's own summary, on a line of its own, unless the preview begins with it."""
    own = response.text[:_OWN_TEXT].rstrip()
    if not own or own in shown[: 2 * _OWN_TEXT]:
        return ""
    return f"{own}\n" if len(response.text) <= _OWN_TEXT else f"{own}…\n"


def _what_happened(tool_name: str, truncation: dict[str, Any]) -> str:
    part = TRUNCATIONS[truncation["direction"]].kept
    return (
        f"Output of {tool_name[:100]} truncated to its {part}: "
        f"{truncation['kept_lines']} of {truncation['original_lines']} lines, "
        f"{truncation['kept_bytes']} of {truncation['original_bytes']} bytes "
        f"(limits: {truncation['max_lines']} lines, {truncation['max_bytes']} bytes)."
    )


def _where(path: str | None, layout: output_file.Layout, problem: str, *, whole: bool) -> list[str]:
    """Where the output is; not the whole of it if the tool itself left out some and says where that is."""
    if path is None:
        return [f"The rest was not kept: {problem.rstrip('.')}."]
    what = "All of it" if whole else "More of it"
    where = f"{what} is in '{path}': line N of the output is line N+{output_file.LINES_BEFORE} of that file."
    if not layout.pieces:
        return [where]
    return [where, f"Lines too long for read_file are there again, in pieces, from line {layout.pieces_at} on."]


def _envelope(response: ToolResponse, data: dict[str, Any], text: str, limits: Limits) -> ToolResponse:
    """The cut envelope: an error stays an error, everything else is partial."""
    error = response.error
    if error is not None and count_bytes(_encodable(error.message)) > limits.bytes:
        clipped = f"{error.message[:_MAX_MESSAGE]}… (cut: {len(error.message)} characters in all)"
        error = ErrorInfo(code=error.code, message=clipped)
    return ToolResponse(
        status=Status.error if error is not None else Status.partial,
        data=data,
        text=text,
        error=error,
        stats=response.stats,
        context=response.context,
        content=response.content,
    )
