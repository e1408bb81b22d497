"""Content that an editor sends and shows: prompts as text and pictures, and diffs as pairs of texts."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any, TypeGuard

from acp.helpers import ContentBlock, image_block, text_block, tool_content, tool_diff_content
from acp.schema import (
    AudioContentBlock,
    BlobResourceContents,
    ContentToolCallContent,
    EmbeddedResourceContentBlock,
    FileEditToolCallContent,
    ImageContentBlock,
    ResourceContentBlock,
    TextContentBlock,
    TextResourceContents,
)

from toolgate.protocol.content import ImageContent

_MAX_TEXT = 64 * 1024
"""Characters of one text that the editor is shown; the transcript has all of it."""

ToolContent = ContentToolCallContent | FileEditToolCallContent


@dataclass(frozen=True, slots=True, kw_only=True)
class SentPicture:
    """A picture of a prompt, as the editor sent it."""

    name: str
    base64: str


class UnusableContent(Exception):
    """Content of a prompt that this agent cannot take. The message says what to send instead."""


def prompt_text(blocks: Sequence[ContentBlock]) -> str:
    """Return a prompt as the text that the model reads, without its pictures. Raises `UnusableContent`."""
    return "\n\n".join(part for part in map(_text, blocks) if part.strip())


def prompt_pictures(blocks: Sequence[ContentBlock]) -> list[SentPicture]:
    """Return the pictures of a prompt: blocks of their own, and embedded files of that type."""
    found = []
    for block in blocks:
        if isinstance(block, ImageContentBlock):
            found.append(SentPicture(name=_file_name(block.uri), base64=block.data))
        elif isinstance(block, EmbeddedResourceContentBlock) and _is_picture(block.resource):
            found.append(SentPicture(name=_file_name(block.resource.uri), base64=block.resource.blob))
    return found


def _text(block: ContentBlock) -> str:
    if isinstance(block, TextContentBlock):
        return block.text
    if isinstance(block, ResourceContentBlock):
        return f"@{_path(block.uri)}"
    if isinstance(block, ImageContentBlock):
        return ""
    if isinstance(block, AudioContentBlock):
        raise UnusableContent("this agent takes no sound: send what was said as text")
    resource = block.resource
    if isinstance(resource, TextResourceContents):
        fence = "````" if "```" in resource.text else "```"
        return f"@{_path(resource.uri)}\n{fence}\n{resource.text}\n{fence}"
    if _is_picture(resource):
        return ""
    raise UnusableContent(
        f"'{_path(resource.uri)}' is neither text nor a picture: put the file into the project and name it, so that "
        "the agent can open it with its tools"
    )


def _is_picture(resource: object) -> TypeGuard[BlobResourceContents]:
    return isinstance(resource, BlobResourceContents) and (resource.mime_type or "").startswith("image/")


def _path(uri: str) -> str:
    return uri.removeprefix("file://")


def _file_name(uri: str | None) -> str:
    return _path(uri or "").rpartition("/")[2]


def text_content(text: str) -> ContentToolCallContent:
    """Return text as content of a tool call; only the end of a long text."""
    if len(text) > _MAX_TEXT:
        text = f"[… {len(text) - _MAX_TEXT} characters before this]\n{text[-_MAX_TEXT:]}"
    return tool_content(text_block(text))


def diff_content(root: Path, diff: str) -> list[ToolContent]:
    """Return a unified diff as editors want it: the old and the new text of every changed part."""
    found: list[ToolContent] = []
    path, is_new = "", False
    for line, body in _sections(diff):
        if line.startswith("--- "):
            is_new = line == "--- /dev/null"
            path = line[6:] if line.startswith("--- a/") else path
        elif line.startswith("+++ b/"):
            path = line[6:]
        elif line.startswith("@@"):
            old = "".join(text[1:] for text in body if text[0] in " -")
            new = "".join(text[1:] for text in body if text[0] in " +")
            found.append(tool_diff_content(str(root / path), new, None if is_new else old))
    return found or ([text_content(diff)] if diff.strip() else [])


def _sections(diff: str) -> Iterable[tuple[str, list[str]]]:
    """Yield the header lines, and every `@@` line with the lines that follow it."""
    hunk: tuple[str, list[str]] | None = None
    for line in diff.splitlines(keepends=True):
        if hunk is not None and line[0] in " +-" and not line.startswith(("--- ", "+++ ")):
            hunk[1].append(line)
            continue
        if hunk is not None:
            yield hunk
        hunk = (line.rstrip("\n"), []) if line.startswith("@@") else None
        if hunk is None:
            yield line.rstrip("\n"), []
    if hunk is not None:
        yield hunk


def as_content(root: Path, data: dict[str, Any], text: str, images: Sequence[ImageContent] = ()) -> list[ToolContent]:
    """Return what a finished call shows: its diff, or else the text that the model read, and its pictures."""
    diff = data.get("diff")
    if isinstance(diff, str) and diff:
        return diff_content(root, diff)
    pictures = map(tool_content, picture_blocks(images))
    return [text_content(text), *pictures] if text else [*pictures]


def picture_blocks(images: Sequence[ImageContent]) -> list[ContentBlock]:
    """Return pictures as content."""
    return [image_block(image.base64, image.media_type) for image in images]
