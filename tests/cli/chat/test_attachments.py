"""Files that a message of the chat names."""

from pathlib import Path
from typing import Any

import pytest

from tests.cli.chat.conftest import Chat
from tests.cli.chat.test_session_commands import take
from tests.cli.conftest import Model
from tests.support.pictures import png
from toolgate import Workspace
from toolgate.cli.chat.attachments import attached


@pytest.fixture
def places(tmp_path: Path) -> tuple[Workspace, Path]:
    root, outside = tmp_path / "shop", tmp_path / "else where"
    for folder in (root, outside):
        folder.mkdir()
        (folder / "a.png").write_bytes(png(30, 20))
        (folder / "notes.txt").write_text("first\n```\nlast\n")
    (root / "broken.png").write_bytes(png(90, 90)[:60])
    return Workspace(root), outside


@pytest.mark.parametrize(
    ("text", "names"),
    [
        ("look at a.png, please", ["a.png"]),
        ("@a.png and a.png again", ["a.png"]),
        ("what is a.png?", ["a.png"]),
        ("'{outside}/a.png' what is this", ["a.png"]),
        ("what is this {escaped}/a.png", ["a.png"]),
        ("file://{uri}/a.png", ["a.png"]),
        ("compare a.png with @'{outside}/a.png'", ["a.png", "a.png"]),
        ("the log says {escaped}/a.png is missing", []),
        ("no.png is not there", []),
        ("notes.txt and @notes.txt", []),
        ("@~nobody-of-this-name/a.png and @" + "x" * 5000 + ".png", []),
    ],
)
async def test_pictures_are_found_by_their_path(places: tuple[Workspace, Path], text: str, names: list[str]) -> None:
    workspace, outside = places
    said = text.format(outside=outside, escaped=str(outside).replace(" ", "\\ "), uri=str(outside).replace(" ", "%20"))
    found = await attached(workspace, said)
    assert [image.name for image in found.images] == names
    assert (found.quoted, found.problems) == ("", [])


async def test_a_text_file_outside_the_project_is_quoted(places: tuple[Workspace, Path]) -> None:
    workspace, outside = places
    found = await attached(workspace, f"explain @'{outside}/notes.txt'")
    assert found.quoted == f"\n\n{outside}/notes.txt:\n````\nfirst\n```\nlast\n````"
    assert found.notices("m", takes_pictures=False) == [f"▤ {outside}/notes.txt"]


async def test_what_cannot_be_sent_is_named_with_the_reason(places: tuple[Workspace, Path]) -> None:
    workspace, outside = places
    (outside / "large.txt").write_text("x" * 70_000)
    (outside / "odd.bin").write_bytes(b"\0\1")
    text = f"broken.png @'{outside}/large.txt' @'{outside}/odd.bin' @'{outside}' please"
    found = await attached(workspace, text)
    assert found.images == []
    assert [problem.partition(": ")[2] for problem in found.problems] == [
        "'broken.png' begins like a PNG picture but is broken.",
        "it is larger than 65536 bytes",
        "it is neither text nor a picture.",
        "it is not a regular file",
    ]
    assert found.problems[0].startswith("Only the path of broken.png is sent: ")


async def test_a_message_has_at_most_ten_pictures(places: tuple[Workspace, Path]) -> None:
    workspace, _ = places
    for number in range(12):
        (Path(workspace.root) / f"{number}.png").write_bytes(png(2, 2))
    found = await attached(workspace, " ".join(f"{number}.png" for number in range(12)))
    assert (len(found.images), len(found.problems)) == (10, 2)
    assert "at most 10 pictures" in found.problems[0]


def images_of(request: dict[str, Any]) -> int:
    said = request["messages"][-1]["content"]
    return 0 if isinstance(said, str) else sum(part["type"] == "image_url" for part in said)


def test_a_picture_in_the_project_is_sent_and_shown_again(chat: Chat, model: Model, project: Path) -> None:
    (project / "shot.png").write_bytes(png(30, 20))
    server = model(["A red box."])
    terminal = chat("--model", "gpt-4o", model=server)
    take(terminal, "what is in shot.png")
    assert "▣ shot.png (30 × 20)" in terminal.text
    assert images_of(server.requests[-1]) == 1
    terminal.type("\x04")
    terminal.until("continues this session")
    again = chat("--continue", "--model", "gpt-4o", model=model(["x"]))
    assert "▣ shot.png (30 × 20)" in again.text


def test_a_model_that_takes_text_only_reads_the_name(chat: Chat, model: Model, project: Path) -> None:
    (project / "shot.png").write_bytes(png(30, 20))
    server = model(["I cannot see it."])
    terminal = chat("--model", "m", model=server)
    take(terminal, "look at shot.png please")
    assert "m takes no pictures: it reads only their names." in terminal.text
    said = server.requests[-1]["messages"][-1]["content"]
    assert said.endswith("[Not shown: shot.png (30 × 20). m takes no pictures, only text]")
