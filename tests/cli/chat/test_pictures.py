"""Pictures in the chat's terminal: seen on a real pty whose other side says that it is a terminal with pictures."""

import base64
import io
import json
import os
import re
import select
import time
from pathlib import Path

import pytest
from PIL import Image

from tests.cli.conftest import Model
from tests.cli.terminal import Terminal
from tests.support.pictures import png
from toolgate.cli.chat.canvas import Canvas
from toolgate.cli.chat.pictures import MAX_PICTURES, draw_picture, prepared
from toolgate.protocol.content import ImageContent

CHUNK = re.compile(r"\x1b_G([^;]*);([^\x1b]*)\x1b\\")
INLINE = re.compile(r"\x1b\]1337;File=([^:]*):([^\x07]*)\x07")
GRAPHICS = re.compile(r"\x1b_G|\x1b\]1337")


def image(width: int = 30, height: int = 40, data: bytes = b"") -> ImageContent:
    return ImageContent(media_type="image/png", width=width, height=height, data=data or png(width, height), name="a")


def noise(width: int, height: int, kind: str) -> bytes:
    out = io.BytesIO()
    Image.effect_noise((width, height), 90).convert("RGB").save(out, kind)
    return out.getvalue()


class Answering(Terminal):
    """A terminal that answers who it is."""

    def answer(self, name: str, typed: str = "") -> None:
        end = time.monotonic() + 60
        while "\x1b[>q\x1b[c" not in self.raw:
            ready, _, _ = select.select([self.fd], [], [], max(end - time.monotonic(), 0))
            assert ready, "the terminal was not asked"
            self.raw += os.read(self.fd, 65536).decode(errors="replace")
        self.type(f"{typed}\x1bP>|{name}\x1b\\\x1b[?62c")


def shown_by(name: str | None, environment: dict[str, str], project: Path, data: bytes, typed: str = "") -> str:
    """Everything that a chat writes while it reads a picture."""
    (project / "p.png").write_bytes(data)
    place = {"XDG_DATA_HOME": str(project.parent / "data")}
    terminal = Answering(["chat", "--coding"], project, {**place, **environment})
    try:
        if name is not None:
            terminal.answer(name, typed)
        terminal.until("❯ ")
        terminal.type("read_file path=p.png\r" if not typed else "\r")
        terminal.until("▣ p.png")
        terminal.until("context ")
        return terminal.raw
    finally:
        terminal.close()


def test_kitty_gets_the_picture(project: Path) -> None:
    raw = shown_by("kitty(0.35.2)", {"TERM": "xterm-kitty", "NO_COLOR": "1"}, project, png(30, 40))

    (keys, text), *more = CHUNK.findall(raw)
    assert keys == "a=T,f=100,q=2,C=1,r=3,m=0"
    assert base64.b64decode(text) == png(30, 40)
    assert more == []


def test_kitty_gets_a_jpeg_as_png_and_in_pieces(project: Path) -> None:
    raw = shown_by("kitty(0.35.2)", {"TERM": "xterm-kitty"}, project, noise(300, 200, "JPEG"))

    chunks = CHUNK.findall(raw)
    assert [keys.rpartition("m=")[2] for keys, _ in chunks] == ["1"] * (len(chunks) - 1) + ["0"]
    assert max(len(text) for _, text in chunks) == 4096
    with Image.open(io.BytesIO(base64.b64decode("".join(text for _, text in chunks)))) as sent:
        assert (sent.format, sent.size) == ("PNG", (300, 200))


def test_iterm2_gets_the_picture_and_typed_words_are_kept(project: Path) -> None:
    environment = {"TERM_PROGRAM": "iTerm.app"}
    raw = shown_by("iTerm2 3.5.11", environment, project, png(30, 40), typed="read_file path=p.png")

    ((shape, text),) = INLINE.findall(raw)
    assert shape == f"inline=1;size={len(png(30, 40))};width=auto;height=3;preserveAspectRatio=1"
    assert base64.b64decode(text) == png(30, 40)


@pytest.mark.parametrize(
    ("name", "environment"),
    [
        (None, {}),
        (None, {"TERM": "xterm-kitty", "TMUX": "/tmp/tmux-0/default,1,0"}),
        ("tmux 3.4", {"TERM_PROGRAM": "iTerm.app"}),
        ("XTerm(390)", {"KITTY_WINDOW_ID": "1"}),
    ],
)
def test_other_terminals_get_a_line(project: Path, name: str | None, environment: dict[str, str]) -> None:
    raw = shown_by(name, environment, project, png(30, 40))

    assert not GRAPHICS.search(raw)
    assert ("\x1b[>q" in raw) == (name is not None)


def test_a_name_that_controls_the_terminal_stays_text(project: Path, model: Model) -> None:
    hostile = "a\x1b_Ga=T;AAAA\x1b\\.png"
    (project / hostile).write_bytes(png(30, 40))
    place = {"XDG_DATA_HOME": str(project.parent / "data"), "TERM": "xterm-kitty"}
    terminal = Answering(["chat", "--coding"], project, place)
    try:
        terminal.answer("kitty(0.35.2)")
        terminal.until("❯ ")
        terminal.type("read_file " + json.dumps({"path": "a*"}).replace("a*", json.dumps(hostile)[1:-1]) + "\r")
        terminal.until("context ")
    finally:
        terminal.close()

    assert [keys for keys, _ in CHUNK.findall(terminal.raw)] == ["a=T,f=100,q=2,C=1,r=3,m=0"]


class Small(Canvas):
    columns = 40
    rows = 12


@pytest.mark.parametrize(
    ("size", "rows"), [((30, 40), 3), ((1, 1), 1), ((1000, 1000), 8), ((1000, 100), 1), ((1000, 10), 0)]
)
def test_a_picture_takes_rows_that_fit(size: tuple[int, int], rows: int) -> None:
    drawn = draw_picture(Small(io.StringIO(), "kitty"), image(*size, data=png()))

    assert len(drawn) == min(rows, 1)
    if rows:
        assert drawn[0].startswith("\n" * rows + f"\x1b[{rows}A\r\x1b[4C\x1b7\x1b_Ga=T,f=100,q=2,C=1,r={rows},")
        assert drawn[0].endswith("\x1b8\r" + (f"\x1b[{rows - 1}B" if rows > 1 else ""))


async def test_what_is_sent_is_bounded() -> None:
    large = ImageContent(media_type="image/png", width=1500, height=1500, data=noise(1500, 1500, "PNG"))

    (small,) = await prepared([large], "iterm2")
    assert len(small.data) <= 700_000
    assert max(small.width, small.height) <= 1000
    assert len(await prepared([image()] * 9, "kitty")) == MAX_PICTURES
    assert await prepared([image()], None) == []


async def test_a_picture_that_cannot_be_decoded_is_left_out() -> None:
    broken = ImageContent(media_type="image/jpeg", width=30, height=20, data=b"\xff\xd8\xff broken")

    assert await prepared([broken], "kitty") == []
