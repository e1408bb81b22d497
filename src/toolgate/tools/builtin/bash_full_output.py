"""Stores output that is too long for an answer in a file that `read_file` and `grep` can read."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import TYPE_CHECKING

from toolgate.errors import ToolError
from toolgate.log import logger
from toolgate.protocol.codes import ErrorCode
from toolgate.workspace.threads import Stop, in_thread

if TYPE_CHECKING:
    from toolgate.shell.result import StreamInfo
    from toolgate.tools.context import ToolContext
    from toolgate.workspace.output_store import OutputStore


@dataclass(frozen=True, slots=True)
class FullOutput:
    """Where the full output of a command is stored."""

    paths: dict[str, str] = field(default_factory=dict)
    """Stream to path, relative to the root."""
    sentences: tuple[str, ...] = ()
    """What the answer says about it."""


async def keep_full_output(context: ToolContext, stdout: StreamInfo, stderr: StreamInfo) -> FullOutput:
    """Store the streams of which the answer shows only the beginning and the end."""
    paths: dict[str, str] = {}
    sentences = []
    for name, info in (("stdout", stdout), ("stderr", stderr)):
        if info.truncated:
            size = f"{name} is too long to show whole ({info.bytes:,} bytes, {info.lines:,} lines)"
            try:
                paths[name] = await in_thread(_add, context, name, info.output_path)
                context.state.kept_outputs.add(paths[name])
            except ToolError as error:
                logger("bash").warning("output_not_kept", stream=name, reason=error.message)
                sentences.append(f"{size}, and the rest was not kept: {error.message}")
            else:
                complete = info.stored_bytes == info.bytes
                part = "all of it is" if complete else f"the first {info.stored_bytes:,} bytes are"
                rest = "" if complete else " The rest was not kept."
                sentences.append(f"{size}; {part} in '{paths[name]}', as it was printed.{rest}")
    return FullOutput(paths, tuple(sentences))


def _add(stop: Stop, context: ToolContext, stream: str, source: str | None) -> str:
    if source is None:
        raise ToolError(
            ErrorCode.EXECUTION_ERROR,
            "there was no room for it in the directory for temporary files.",
            "Free some space.",
        )
    return _store(context).add_file(f"Bash_{stream}", context.clock.time(), source, stop)


def _store(context: ToolContext) -> OutputStore:
    store = context.state.output_store
    if store is None:
        from toolgate.workspace.output_store import OutputStore

        output = context.settings.tool_output
        store = OutputStore(context.require_workspace(), output.dir, output.retention_days)
        context.state.output_store = store
    return store
