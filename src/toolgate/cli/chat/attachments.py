"""Files that a message of the chat names: pictures are sent with it, and text from outside the project is quoted."""

from __future__ import annotations

import os
import re
from collections.abc import Iterator
from pathlib import Path
from typing import TYPE_CHECKING, Final
from urllib.parse import unquote

from toolgate.errors import ToolError
from toolgate.language.translate import translate
from toolgate.protocol.content import MAX_IN_A_MESSAGE, ImageContent, described
from toolgate.workspace.threads import Stop, in_thread

if TYPE_CHECKING:
    from toolgate.workspace import Workspace

_SUFFIXES: Final = (".png", ".jpg", ".jpeg", ".gif", ".webp")
_MAX_TEXT: Final = 64 * 1024
"""Bytes of a file outside the project that are quoted."""
_MAX_PATH: Final = 4096
_WORD: Final = r"""@?(?:"[^"\n]+"|'[^'\n]+')|(?:\\.|[^\s\\])+"""
_TICKS: Final = "`{3,}"


class Attached:
    """What a message brings besides its words."""

    def __init__(self) -> None:
        self.images: list[ImageContent] = []
        self.quoted = ""
        """Text files, as they are appended to the message."""
        self.names: list[str] = []
        """The quoted files."""
        self.problems: list[str] = []
        """Why files are not sent, one sentence for each."""

    def notices(self, model: str, *, takes_pictures: bool) -> list[str]:
        """What the person should know."""
        from toolgate.cli.visible import visible

        lines = [f"▣ {visible(described([image]), keep='')}" for image in self.images]
        if self.images and not takes_pictures:
            lines.append(translate("{model} takes no pictures: it reads only their names.", model=model))
        return [*lines, *(f"▤ {visible(name, keep='')}" for name in self.names), *self.problems]


async def attached(workspace: Workspace, text: str) -> Attached:
    """Return the files that a message names: pictures of the project, and files outside it after `@`.

    A picture outside the project is also meant if it is the first or the last word: terminals paste the path of a file
    that is dropped on them.
    """
    if not any(suffix in text.casefold() for suffix in _SUFFIXES) and "@" not in text:
        return Attached()
    return await in_thread(_attached, workspace, text)


def _attached(stop: Stop, workspace: Workspace, text: str) -> Attached:
    found = Attached()
    seen: set[str] = set()
    for path, is_marked in _paths(text):
        if path in seen:
            continue
        seen.add(path)
        try:
            _attach(stop, workspace, path, is_marked, found)
        except (ToolError, OSError, ValueError) as error:
            from toolgate.cli.visible import visible

            reason = error.message if isinstance(error, ToolError) else getattr(error, "strerror", None) or str(error)
            shown, why = visible(path, keep=""), visible(reason, keep="")
            found.problems.append(translate("Only the path of {path} is sent: {reason}", path=shown, reason=why))
    return found


def _paths(text: str) -> Iterator[tuple[str, bool]]:
    """Yield what may be a path, and whether it is marked as a file outside the project."""
    words = [match[0] for match in re.finditer(_WORD, text)]
    for place, word in enumerate(words):
        at = word.startswith("@")
        path = word.removeprefix("@")
        if path[:1] in ("'", '"') and path[-1:] == path[:1]:
            path = path[1:-1]
        else:
            path = re.sub(r"\\(.)", r"\1", path).rstrip(".,;:!?)")
        if path.startswith("file://"):
            path = unquote(path.removeprefix("file://"))
        if (at or _is_picture(path)) and 0 < len(path) <= _MAX_PATH:
            yield path, at or place in (0, len(words) - 1)


def _is_picture(path: str) -> bool:
    return path.casefold().endswith(_SUFFIXES)


def _attach(stop: Stop, workspace: Workspace, path: str, is_marked: bool, found: Attached) -> None:
    from toolgate.documents.images import MAX_FILE, image_of, read_image
    from toolgate.userfiles import read_named_file

    if workspace.is_file(path):
        if _is_picture(path) and _has_room(found):
            with workspace.open_file(path) as opened:
                found.images.append(read_image(stop, opened.fd, path)[0])
        return  # the model reads other files with its tools
    outside = Path(os.path.expanduser(path))
    if not is_marked or not outside.is_absolute() or not outside.exists():
        return
    if _is_picture(path):
        if _has_room(found):
            found.images.append(image_of(stop, read_named_file(outside, MAX_FILE), outside.name))
        return
    content = _text(read_named_file(outside, _MAX_TEXT)).rstrip("\n")
    fence = "`" * (max((len(run) for run in re.findall(_TICKS, content)), default=2) + 1)
    found.quoted += f"\n\n{outside}:\n{fence}\n{content}\n{fence}"
    found.names.append(str(outside))


def _text(data: bytes) -> str:
    try:
        text = data.decode()
    except UnicodeDecodeError:
        text = "\0"
    if "\0" in text:
        raise ValueError(translate("it is neither text nor a picture."))
    return text


def _has_room(found: Attached) -> bool:
    if len(found.images) < MAX_IN_A_MESSAGE:
        return True
    raise ValueError(translate("a message takes at most {most} pictures.", most=MAX_IN_A_MESSAGE))
