"""The pictures of a conversation: which of them a model gets, and what it reads in place of the others."""

from __future__ import annotations

from collections import OrderedDict
from collections.abc import Sequence
from typing import TYPE_CHECKING, Any, Final

from toolgate.protocol.content import ImageContent, StoredImage, described, noted

if TYPE_CHECKING:
    from toolgate.sessions import SessionStore

Message = dict[str, Any]
"""A message in the form of OpenAI's chat API; a message of a tool or of the user may have `images`."""

MAX_PICTURES: Final = 20
"""Pictures in one request: providers take more, but smaller ones then."""
_MAX_BYTES: Final = 32 << 20
"""Bytes of pictures that a turn keeps in memory; what is left out is read from the store again."""


def sees_pictures(model: Any) -> bool:
    """Whether pictures are sent to a model: only if its client says so (`vision`)."""
    return getattr(model, "vision", False) is True


def with_note(message: Message, note: str) -> Message:
    """The message with a note in place of its pictures."""
    rest = {key: value for key, value in message.items() if key != "images"}
    return {**rest, "content": noted(message.get("content") or "", note)}


def left_out(message: Message) -> Message:
    """The message without its pictures, and a note that says so."""
    images = message.get("images")
    if not images:
        return message
    again = "read it again" if message["role"] == "tool" else "ask the user for it"
    return with_note(message, f"Left out to save space: {described(images)}; {again} if you need it")


class SessionPictures:
    """The pictures of one session: the latest in memory, all of them in its store."""

    def __init__(self, sessions: SessionStore, session_id: str, model: Any) -> None:
        self._sessions = sessions
        self._session_id = session_id
        self._model = model
        self._kept: OrderedDict[str, bytes] = OrderedDict()
        self._size = 0

    def attached(self, message: Message, images: Sequence[ImageContent | StoredImage]) -> Message:
        """A message with its pictures, or with a note if the model takes text only."""
        if not images:
            return message
        if not sees_pictures(self._model):
            name = str(getattr(self._model, "name", "") or "this model")
            return with_note(message, f"Not shown: {described(images)}. {name} takes no pictures, only text")
        for image in images:
            if isinstance(image, ImageContent):
                self._keep(image.sha256, image.data)
        stored = tuple(image.stored if isinstance(image, ImageContent) else image for image in images)
        return {**message, "images": stored}

    def refused(self, messages: list[Message]) -> bool:
        """Put notes in place of all pictures, because the model's server has refused them; False if there are none."""
        found = [index for index, message in enumerate(messages) if message.get("images")]
        for index in found:
            names = described(messages[index]["images"])
            messages[index] = with_note(messages[index], f"Not shown: {names}. The model's server refused pictures")
        self._model = None
        return bool(found)

    async def filled(self, messages: Sequence[Message]) -> list[Message]:
        """The messages with the bytes of their pictures; a picture that is gone is named in a note."""
        filled = list(messages)
        for index in [index for index, message in enumerate(filled) if "images" in message]:
            filled[index] = await self._filled(filled[index])
        return filled

    async def _filled(self, message: Message) -> Message:
        found: list[ImageContent] = []
        gone: list[StoredImage] = []
        for image in message["images"]:
            data = await self._bytes(image)
            if data is None:
                gone.append(image)
            else:
                found.append(ImageContent.of(image, data))
        if gone:
            message = {**with_note(message, f"No longer stored: {described(gone)}"), "images": ()}
        rest = {key: value for key, value in message.items() if key != "images"}
        return {**rest, "images": tuple(found)} if found else rest

    async def _bytes(self, image: StoredImage) -> bytes | None:
        data = self._kept.get(image.sha256)
        if data is None:
            row = await self._sessions.picture(self._session_id, image.sha256)
            if row is None:
                return None
            data = row[1]
        self._keep(image.sha256, data)
        return data

    def _keep(self, sha256: str, data: bytes) -> None:
        before = self._kept.pop(sha256, None)
        self._size += len(data) - len(before or b"")
        self._kept[sha256] = data
        while self._size > _MAX_BYTES and len(self._kept) > 1:
            self._size -= len(self._kept.popitem(last=False)[1])
