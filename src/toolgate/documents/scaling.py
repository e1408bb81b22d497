"""The task `image`: decodes a picture once and makes it as small as models want it. Runs in the worker."""

from __future__ import annotations

import io
import os

from PIL import Image, ImageOps

from toolgate.documents.worker import Refused, answer

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any

_FORMATS = ("PNG", "JPEG", "GIF", "WEBP")
_QUALITY = 85
_MIN_SIDE = 64


def work(task: dict[str, Any]) -> None:
    """Answer with the picture, or only with `same` if the file can be sent as it is."""
    only: str | None = task.get("only")
    Image.MAX_IMAGE_PIXELS = None  # the limit of the task counts
    with os.fdopen(os.dup(0), "rb") as file, Image.open(file, formats=_FORMATS) as image:
        width, height = image.size
        if width * height > task["pixels"]:
            raise Refused("pixels", f"{width} × {height}")
        image.draft("RGB", (task["side"], task["side"]))
        image.load()
        fits = max(width, height) <= task["side"] and task["bytes"] <= task["max_bytes"]
        rotated = image.getexif().get(0x0112, 1) != 1
        accepted = (only,) if only else _FORMATS
        if fits and not rotated and image.format in accepted and getattr(image, "n_frames", 1) == 1:
            answer({"same": True, "width": width, "height": height})
            return
        send(
            ImageOps.exif_transpose(image), task["side"], task["max_bytes"], only, frames=getattr(image, "n_frames", 1)
        )


def send(image: Image.Image, side: int, limit: int, only: str | None = None, **more: Any) -> None:
    """Answer with a picture of at most `side` pixels a side and `limit` bytes, in the format `only` if it is given."""
    sharp = image.mode in ("1", "L", "LA", "P", "PA", "RGBA", "I", "I;16")
    converted = image.convert("RGBA" if "A" in image.mode or "transparency" in image.info else "RGB")
    while True:
        converted.thumbnail((side, side))
        data, kind = _encoded(converted, limit, sharp, only)
        if len(data) <= limit or side <= _MIN_SIDE:
            answer({"media_type": kind, "width": converted.width, "height": converted.height, **more}, data)
            return
        side = side * 3 // 4


def _encoded(image: Image.Image, limit: int, sharp: bool, only: str | None) -> tuple[bytes, str]:
    """PNG where it is small enough or was likely drawn, else JPEG."""
    if sharp or image.mode == "RGBA" or only == "PNG":
        out = io.BytesIO()
        image.save(out, "PNG", optimize=False)
        if out.tell() <= limit or only == "PNG":
            return out.getvalue(), "image/png"
    flat = image
    if image.mode == "RGBA":
        flat = Image.new("RGB", image.size, "white")
        flat.paste(image, mask=image.getchannel("A"))
    out = io.BytesIO()
    flat.save(out, "JPEG", quality=_QUALITY)
    return out.getvalue(), "image/jpeg"
