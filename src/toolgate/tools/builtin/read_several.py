"""Several files in one call of `read_file`: each one passes every gate by itself."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from toolgate.errors import ToolError
from toolgate.protocol.codes import ErrorCode
from toolgate.protocol.envelope import Status, ToolResponse

if TYPE_CHECKING:
    from toolgate.protocol.content import ImageContent
    from toolgate.tools.builtin.read_file import FileReadParams, FileReadTool
    from toolgate.tools.context import ToolContext

_MAX_BYTES = 32_000
"""Bytes after which no further file is read: clients of other agents cut what is longer than a page of 40 kB."""
_MAX_PICTURES = 4
"""Pictures after which no further file is read."""


async def read_several(tool: FileReadTool, params: FileReadParams, context: ToolContext) -> ToolResponse:
    """Read the files one after another, as if each had been asked for alone, until the page is full."""
    read = tool.bind(context.derive(recorder=None))
    paths = list(dict.fromkeys([params.path, *params.paths]))
    if len(paths) == 1:
        alone: ToolResponse = await read(params.model_dump(exclude={"paths"}, exclude_unset=True))
        return alone
    shared = params.model_dump(include={"start_line", "limit"})
    files: list[dict[str, Any]] = []
    pictures: tuple[ImageContent, ...] = ()
    size, whole = 0, True
    for path in paths:
        if size >= _MAX_BYTES or len(pictures) >= _MAX_PICTURES:
            break
        response: ToolResponse = await read({"path": path, **shared})
        content = str(response.data.get("content", ""))
        size += len(content.encode())
        pictures += response.content
        whole = whole and response.status is Status.success
        files.append({"path": path, "content": content, "text": response.text, "read": response.error is None})
    return _answer(paths, files, pictures, whole=whole)


def _answer(
    paths: list[str], files: list[dict[str, Any]], pictures: tuple[ImageContent, ...], *, whole: bool
) -> ToolResponse:
    found = [file for file in files if file["read"]]
    if not found:
        raise ToolError(
            ErrorCode.NOT_FOUND, "None of the files was read. " + " ".join(file["text"] for file in files), ""
        )
    left = paths[len(files) :]
    content = "\n".join(f"== {file['path']} ==\n{file['text']}\n{file['content']}".rstrip() for file in files)
    text = f"Read {len(found)} of {len(paths)} files."
    if left:
        text += f" The page is full; not read yet: {', '.join(left)}."
    data = {
        "content": content,
        "files": [{"path": file["path"], "read": file["read"]} for file in files],
        "truncated": bool(left) or not whole,
    }
    build = ToolResponse.success if whole and not left else ToolResponse.partial
    return build(data, text, context={"truncation_skip": True}, content=pictures)
