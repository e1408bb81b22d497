"""Content that an editor sends and shows: prompts as text and pictures, and diffs as pairs of texts."""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Final, TypeGuard

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

_HUNK: Final = re.compile(r"@@ -\d+(?:,(?P<old>\d+))? \+\d+(?:,(?P<new>\d+))? @@")
_NO_NEWLINE: Final = "\\ No newline at end of file"

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
    """Return a unified diff as editors want it: the old and the new text of every changed part.

    What is in no part, such as a note that the diff was cut, is text: nothing of the diff is left out.
    """
    found: list[ToolContent] = []
    lines = diff.removesuffix("\n").split("\n")
    path, is_new, other, number = "", False, list[str](), 0
    while number < len(lines):
        line, after = lines[number], lines[number + 1] if number + 1 < len(lines) else ""
        if line.startswith("--- ") and after.startswith("+++ "):
            is_new = line == "--- /dev/null"
            path = (line if after == "+++ /dev/null" else after)[6:]
            if line[5:] != after[5:] and "/dev/null" not in (line[4:], after[4:]):
                other.append(f"{line[6:]} → {path}")
            if not lines[number + 2 : number + 3] or _HUNK.match(lines[number + 2]) is None:
                other += [line, after]
            number += 2
        elif (hunk := _HUNK.match(line)) is not None:
            old, new, number = _texts(lines, number + 1, int(hunk["old"] or 1), int(hunk["new"] or 1))
            found.append(tool_diff_content(str(root / path), new, None if is_new else old))
        else:
            other.append(line)
            number += 1
    return [*found, text_content("\n".join(other))] if "".join(other).strip() else found


def _texts(lines: list[str], number: int, old_left: int, new_left: int) -> tuple[str, str, int]:
    """The two texts of a part with these numbers of lines, and the number of the first line after it.

    The numbers say what belongs to it: lines of a file may look like the header of a diff.
    """
    old, new, mark = list[str](), list[str](), ""
    for line in lines[number:]:
        if line == _NO_NEWLINE and mark:
            for text in [*([old] if mark in " -" else []), *([new] if mark in " +" else [])]:
                text[-1] = text[-1].removesuffix("\n")
        elif line[:1] in (" ", "-", "+") and (old_left if line[0] != "+" else new_left) > 0:
            mark = line[0]
            if mark != "+":
                old.append(f"{line[1:]}\n")
                old_left -= 1
            if mark != "-":
                new.append(f"{line[1:]}\n")
                new_left -= 1
        else:
            break
        number += 1
    return "".join(old), "".join(new), number


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
