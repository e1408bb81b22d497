"""Pictures are decoded in a process of their own, with limits, and made small enough to be sent."""

import io
import os
import time
import zlib
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import pytest
from PIL import Image

from tests.support.pictures import chunk, png, write
from toolgate import ErrorCode
from toolgate.documents import images
from toolgate.documents.images import image_of, read_image
from toolgate.errors import ToolError
from toolgate.workspace import Stop


@contextmanager
def opened(path: Path) -> Iterator[int]:
    fd = os.open(path, os.O_RDONLY)
    try:
        yield fd
    finally:
        os.close(fd)


def picture(size: tuple[int, int], kind: str = "PNG", mode: str = "RGB", **options: object) -> bytes:
    out = io.BytesIO()
    Image.effect_noise(size, 60).convert(mode).save(out, kind, **options)
    return out.getvalue()


def test_a_small_picture_is_sent_as_it_is(tmp_path: Path) -> None:
    with opened(write(tmp_path / "a.png", png(30, 20))) as fd:
        image, note = read_image(Stop(), fd, "a.png")
    assert (image.media_type, image.width, image.height, image.data, image.name) == (
        "image/png", 30, 20, png(30, 20), "a.png"
    )  # fmt: skip
    assert note == ""


@pytest.mark.parametrize(("kind", "mode"), [("PNG", "RGB"), ("JPEG", "RGB"), ("WEBP", "RGBA"), ("PNG", "L")])
def test_a_large_picture_is_scaled(tmp_path: Path, kind: str, mode: str) -> None:
    with opened(write(tmp_path / "big", picture((2400, 1200), kind, mode))) as fd:
        image, note = read_image(Stop(), fd, "big")
    assert (image.width, image.height) == (1568, 784)
    assert note == "It is shown as 1568 × 784 pixels."
    assert len(image.data) <= images.MAX_BYTES
    with Image.open(io.BytesIO(image.data)) as again:
        assert again.size == (1568, 784)
        assert f"image/{(again.format or '').lower()}" == image.media_type


def test_only_the_first_frame_of_many_is_shown(tmp_path: Path) -> None:
    frames = [Image.new("P", (40, 40), number) for number in range(30)]
    out = io.BytesIO()
    for number, frame in enumerate(frames):
        frame.putpalette([number * 8 % 256, 0, 0] * 256)
    frames[0].save(out, "GIF", save_all=True, append_images=frames[1:])
    image = image_of(Stop(), out.getvalue(), "a.gif")
    assert (image.media_type, image.width) == ("image/png", 40)


def test_a_turned_photo_is_shown_upright(tmp_path: Path) -> None:
    exif = Image.Exif()
    exif[0x0112] = 6
    out = io.BytesIO()
    Image.new("RGB", (60, 20)).save(out, "JPEG", exif=exif)
    image = image_of(Stop(), out.getvalue(), "photo.jpg")
    assert (image.width, image.height) == (20, 60)


def refused(data: bytes, tmp_path: Path) -> str:
    began = time.monotonic()
    with opened(write(tmp_path / "x.png", data)) as fd, pytest.raises(ToolError) as caught:
        read_image(Stop(), fd, "x.png")
    assert time.monotonic() - began < 45
    assert caught.value.code is ErrorCode.BINARY_FILE
    return caught.value.message


def test_a_bomb_of_pixels_is_not_decoded(tmp_path: Path) -> None:
    assert "50000 × 50000 pixels" in refused(png(claimed=(50_000, 50_000)), tmp_path)


def test_a_picture_that_lies_about_its_size_is_broken(tmp_path: Path) -> None:
    assert "is broken" in refused(png(3, 2, claimed=(4000, 4000)), tmp_path)


def test_a_bomb_of_metadata_is_not_unpacked(tmp_path: Path) -> None:
    packed = zlib.compress(b"\0" * (600 << 20), 9)
    text = chunk(b"zTXt", b"Comment\0\0" + packed)
    assert "is broken" in refused(png(extra=text), tmp_path)


def test_a_bomb_in_a_profile_is_not_unpacked(tmp_path: Path) -> None:
    packed = zlib.compress(b"\0" * (600 << 20), 9)
    assert "is broken" in refused(png(extra=chunk(b"iCCP", b"p\0\0" + packed)), tmp_path)


@pytest.mark.parametrize("cut", [9, 20, 60])
def test_a_picture_that_breaks_off_is_broken(tmp_path: Path, cut: int) -> None:
    assert "is broken" in refused(png(300, 300)[:cut], tmp_path)


def test_a_picture_that_is_too_many_bytes_is_not_read(tmp_path: Path) -> None:
    path = write(tmp_path / "x.png", png())
    os.truncate(path, images.MAX_FILE + 1)
    with opened(path) as fd, pytest.raises(ToolError, match="pictures are read up to"):
        read_image(Stop(), fd, "x.png")


def test_without_pillow_small_pictures_are_sent_and_large_ones_name_the_package(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(images, "is_installed", lambda package: False)
    assert image_of(Stop(), png(30, 20), "a.png").data == png(30, 20)
    with pytest.raises(ToolError) as caught:
        image_of(Stop(), png(9000, 1), "wide.png")
    assert "Pillow" in caught.value.message
    assert "toolgate[documents]" in caught.value.next_step
    with pytest.raises(ToolError, match="is broken"):
        image_of(Stop(), png(30, 20)[:-8], "cut.png")


def test_bytes_that_are_no_picture_are_refused() -> None:
    with pytest.raises(ToolError, match="not a picture"):
        image_of(Stop(), b"<svg/>", "a.svg")
