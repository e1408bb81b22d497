"""Pictures in messages and results.

The envelope stays plain JSON: the bytes of a picture are in `ToolResponse.content`, never in `data`. A log stores a
`StoredImage`, which names the bytes by their hash.
"""

from __future__ import annotations

from collections.abc import Iterable
from functools import cached_property
from typing import Any, Literal, get_args

from pydantic import BaseModel, ConfigDict, Field

MediaType = Literal["image/png", "image/jpeg", "image/gif", "image/webp"]
"""The pictures that models take."""
MEDIA_TYPES: frozenset[str] = frozenset(get_args(MediaType))
MAX_IN_A_MESSAGE = 10
"""Pictures of one message of a person."""

_FROZEN = ConfigDict(frozen=True, extra="forbid", defer_build=True)
_PIXELS_PER_TOKEN = 750
_MIN_TOKENS = 85
_MAX_TOKENS = 6_400
"""No provider counts more for one picture: larger ones are scaled down there."""


class Picture(BaseModel):
    """What is known about a picture without its bytes."""

    model_config = _FROZEN

    media_type: MediaType
    width: int = Field(ge=1)
    height: int = Field(ge=1)
    name: str = ""
    """What it is called: a path, or a page of a document."""

    @property
    def tokens(self) -> int:
        """The approximate number of tokens that it takes in a request."""
        return min(_MAX_TOKENS, max(_MIN_TOKENS, self.width * self.height // _PIXELS_PER_TOKEN))

    @property
    def format(self) -> str:
        """The name of the format, for people."""
        return format_name(self.media_type)


class StoredImage(Picture):
    """A picture by the hash of its bytes."""

    sha256: str = Field(pattern="^[0-9a-f]{64}$")
    size: int = Field(ge=0)
    """How many bytes it has."""


class ImageContent(Picture):
    """A picture with its bytes."""

    type: Literal["image"] = "image"
    data: bytes = Field(repr=False)
    """The file, as it is sent."""

    @cached_property
    def sha256(self) -> str:
        """The hash of the bytes."""
        import hashlib

        return hashlib.sha256(self.data).hexdigest()

    @property
    def base64(self) -> str:
        """The bytes as text, as every protocol wants them."""
        from base64 import b64encode

        return b64encode(self.data).decode()

    @property
    def stored(self) -> StoredImage:
        """The same without its bytes."""
        return StoredImage(**facts(self), sha256=self.sha256, size=len(self.data))

    @classmethod
    def of(cls, stored: StoredImage, data: bytes) -> ImageContent:
        """A stored picture with its bytes."""
        return cls(**facts(stored), data=data)


def described(pictures: Iterable[Picture]) -> str:
    """Name pictures in one line."""
    return ", ".join(f"{one.name or one.format} ({one.width} × {one.height})" for one in pictures)


SHOWN = "Shown here"
"""The note of a summary about pictures, which it cannot show."""


def noted(text: str, note: str) -> str:
    """A text with a note in place of its pictures."""
    return f"{text}\n[{note}]".lstrip()


def format_name(media_type: str) -> str:
    """Return the name of a format, for people."""
    return media_type.removeprefix("image/").upper().replace("WEBP", "WebP")


def facts(picture: Picture) -> dict[str, Any]:
    """What pictures with and without bytes have in common."""
    return {name: getattr(picture, name) for name in Picture.model_fields}
