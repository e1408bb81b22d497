"""Pictures that a person attaches in the editor: checked and made small, as the gateway does it."""

from __future__ import annotations

import base64
from collections.abc import Sequence
from typing import TYPE_CHECKING

from toolgate.adapters.acp.content import SentPicture, UnusableContent
from toolgate.documents.images import image_of
from toolgate.errors import ToolError
from toolgate.protocol.content import MAX_IN_A_MESSAGE, ImageContent, StoredImage
from toolgate.workspace.threads import in_thread

if TYPE_CHECKING:
    from toolgate.sessions import SessionStore


async def checked_pictures(sent: Sequence[SentPicture]) -> list[ImageContent]:
    """Return the pictures as models take them. Raises `UnusableContent` if one cannot be used."""
    if len(sent) > MAX_IN_A_MESSAGE:
        raise UnusableContent(f"the prompt has {len(sent)} pictures: a message takes at most {MAX_IN_A_MESSAGE}")
    found = []
    for picture in sent:
        try:
            data = base64.b64decode(picture.base64, validate=True)
        except ValueError:
            raise UnusableContent(f"{picture.name or 'the picture'} is not base64, as the protocol wants it") from None
        try:
            found.append(await in_thread(image_of, data, picture.name or "The picture"))
        except ToolError as error:
            raise UnusableContent(f"{error.message} Nothing was sent: go on without it, or send another one") from None
    return found


async def stored_pictures(sessions: SessionStore, session_id: str, images: Sequence[StoredImage]) -> list[ImageContent]:
    """Return the pictures of an earlier message that are still stored."""
    found = [(image, await sessions.picture(session_id, image.sha256)) for image in images]
    return [ImageContent.of(image, row[1]) for image, row in found if row is not None]
