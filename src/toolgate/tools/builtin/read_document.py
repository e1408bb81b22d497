"""The part of `read_file` for files other than plain text: pictures, PDF files and notebooks."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from toolgate.errors import ToolError
from toolgate.protocol.codes import ErrorCode
from toolgate.protocol.envelope import ToolResponse
from toolgate.tools.secrets import allowed_secrets
from toolgate.workspace import in_thread
from toolgate.workspace.oserrors import quote

if TYPE_CHECKING:
    from toolgate.tools.builtin.read_file import FileReadParams
    from toolgate.tools.context import ToolContext


def is_asked_for(params: FileReadParams) -> bool:
    """Whether the arguments of a call ask for a document. The file is not read for this."""
    return params.path.endswith(".ipynb") or bool(params.pages) or params.pictures


async def read_as_document(params: FileReadParams, context: ToolContext) -> ToolResponse | None:
    """The response for a document; None if the file is not one."""
    from toolgate.documents.reading import DocumentPart, read_document

    workspace = context.require_workspace()
    wanted = DocumentPart(
        start_line=params.start_line, limit=params.limit, pages=params.pages, pictures=params.pictures
    )
    found = await in_thread(read_document, workspace, params.path, wanted)
    if found is None:
        if params.pages or params.pictures:
            raise ToolError(
                ErrorCode.INVALID_PARAM,
                f"Invalid parameters for 'read_file': {quote(params.path)} is not a PDF file and has no pages.",
                "Leave pages and pictures out.",
            )
        return None
    context.guard.require(params.path, found.stat, allowed_secrets(context))
    parts = workspace.locate(params.path).parts
    context.state.seen_files.remember(parts, found.stat, found.digest)
    data: dict[str, Any] = {"content": found.content, "truncated": found.truncated, "media_type": found.media_type}
    build = ToolResponse.partial if found.truncated else ToolResponse.success
    return build(
        data,
        found.summary,
        stats={"file_bytes": found.stat.st_size, "pictures": len(found.images)},
        context={"path_resolved": "/".join(parts), "truncation_skip": True},
        content=found.images,
    )
