"""Pictures are recognised by their first bytes."""

import io

import pytest
from PIL import Image

from tests.support.pictures import png
from toolgate.documents.image_header import image_header, is_complete


def encoded(kind: str, **options: object) -> bytes:
    out = io.BytesIO()
    Image.new("RGB", (70, 30), "red").save(out, kind, **options)
    return out.getvalue()


@pytest.mark.parametrize(
    ("media_type", "data"),
    [
        ("image/png", png(70, 30)),
        ("image/jpeg", encoded("JPEG")),
        ("image/jpeg", encoded("JPEG", progressive=True, comment=b"c" * 60_000)),
        ("image/gif", encoded("GIF")),
        ("image/webp", encoded("WEBP")),
        ("image/webp", encoded("WEBP", lossless=True)),
        ("image/webp", encoded("WEBP", exif=b"Exif\0\0II*\0\x08\0\0\0\0\0")),
    ],
)
def test_every_format_tells_its_size(media_type: str, data: bytes) -> None:
    header = image_header(data)
    assert header == (media_type, 70, 30)
    assert is_complete(header, data)
    assert not is_complete(header, data[: len(data) // 2])


@pytest.mark.parametrize("data", [b"", b"\x89PNG", b"GIF8", b"RIFF1234WAVE", b"%PDF-1.4", b"text", b"\xff\xd8"])
def test_what_is_no_picture_is_none(data: bytes) -> None:
    assert image_header(data) is None


@pytest.mark.parametrize(
    "data", [b"\x89PNG\r\n\x1a\n", b"\xff\xd8\xff", b"GIF89a", b"RIFF\0\0\0\0WEBPVP8 ", b"\xff\xd8" + b"\xff" * 99]
)
def test_a_header_that_breaks_off_has_no_size(data: bytes) -> None:
    header = image_header(data)
    assert header is not None
    assert header[1:] == (0, 0)
    assert not is_complete(header, data)
