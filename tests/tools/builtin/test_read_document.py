"""`read_file` on files that are no plain text."""

import asyncio
import json
import time
from pathlib import Path

import pytest
from PIL import Image

from tests.documents.test_notebook import code, notebook
from tests.support.pictures import pdf, png
from tests.support.toolbox import Toolbox
from toolgate import ErrorCode, Status


@pytest.fixture
def tools(tmp_path: Path) -> Toolbox:
    return Toolbox(tmp_path)


async def test_a_picture_by_its_content_whatever_its_name(tools: Toolbox) -> None:
    (tools.root / "shot.txt").write_bytes(png(30, 20))
    result = await tools.result("read_file", path="shot.txt")
    assert result.output == f"'shot.txt' is a picture: PNG, 30 × 20 pixels, {len(png(30, 20))} bytes."
    assert result.response.data == {"content": "", "truncated": False, "media_type": "image/png"}
    assert [image.data for image in result.content] == [png(30, 20)]
    json.loads(result.response.to_json())


async def test_a_text_file_with_the_name_of_a_picture_is_text(tools: Toolbox) -> None:
    (tools.root / "a.png").write_text("no picture\n")
    assert "no picture" in (await tools.result("read_file", path="a.png")).output


async def test_pages_of_a_pdf_file(tools: Toolbox) -> None:
    (tools.root / "a.pdf").write_bytes(pdf("Hello", "World", "End"))
    result = await tools.result("read_file", path="a.pdf", pages="2")
    assert result.output == "'a.pdf' is a PDF file of 3 pages. Here: page 2.\n--- page 2 ---\nWorld"
    shown = await tools.result("read_file", path="a.pdf", pages="1-2", pictures=True)
    assert [image.name for image in shown.content] == ["a.pdf, page 1", "a.pdf, page 2"]
    assert shown.response.status is Status.success


async def test_a_long_pdf_file_names_the_next_pages(tools: Toolbox) -> None:
    (tools.root / "a.pdf").write_bytes(pdf(*["word " * 500] * 40))
    response = await tools("read_file", path="a.pdf")
    assert response.status is Status.partial
    assert response.text.endswith(f"Next: pages='{response.data['content'].count('--- page') + 1}-'.")


async def test_a_notebook_in_pages(tools: Toolbox) -> None:
    (tools.root / "a.ipynb").write_bytes(notebook(*[code(f"cell = {number}") for number in range(9)]))
    response = await tools("read_file", path="a.ipynb", limit=4)
    assert response.text.startswith("'a.ipynb' is a notebook (python) of 9 cells, which count from 0.")
    assert response.text.endswith("use start_line=5 to read on.")
    assert "cell = 1" in response.data["content"]
    rest = await tools("read_file", path="a.ipynb", start_line=-2)
    assert rest.data["content"] == "--- cell 8 (code, run 7) ---\ncell = 8"


async def test_pages_of_what_has_none(tools: Toolbox) -> None:
    (tools.root / "a.txt").write_text("text")
    response = await tools("read_file", path="a.txt", pages="1")
    assert response.error is not None
    assert response.error.code is ErrorCode.INVALID_PARAM


@pytest.mark.parametrize("path", ["a.bin", "../out.png", "missing.ipynb", "dir.ipynb"])
async def test_what_is_no_document_fails_as_before(tools: Toolbox, path: str) -> None:
    (tools.root / "a.bin").write_bytes(b"\x7fELF\0\0")
    (tools.root / "dir.ipynb").mkdir()
    response = await tools("read_file", path=path)
    assert response.error is not None
    codes = {"a.bin": "BINARY_FILE", "../out.png": "ACCESS_DENIED", "missing.ipynb": "NOT_FOUND"}
    assert response.error.code.value == codes.get(path, "IS_DIRECTORY")


async def test_the_event_loop_runs_while_a_document_is_decoded(tools: Toolbox) -> None:
    (tools.root / "a.png").write_bytes(png(2000, 2000))
    longest = 0.0

    async def watch() -> None:
        nonlocal longest
        while True:
            began = time.monotonic()
            await asyncio.sleep(0.01)
            longest = max(longest, time.monotonic() - began)

    watching = asyncio.ensure_future(watch())
    result = await tools.result("read_file", path="a.png")
    watching.cancel()
    assert result.content[0].width == 1568
    assert longest < 1.0


async def test_a_picture_that_was_read_counts_as_seen(tools: Toolbox) -> None:
    (tools.root / "a.png").write_bytes(png())
    await tools("read_file", path="a.png")
    (tools.root / "a.png").write_bytes(png(4, 4))
    response = await tools("write_file", path="a.png", content="text")
    assert response.error is not None
    assert response.error.code is ErrorCode.CONFLICT


async def test_a_scaled_picture_is_described_as_the_file_is(tmp_path: Path) -> None:
    Image.effect_noise((2000, 1000), 60).save(tmp_path / "noise.png")

    result = await Toolbox(tmp_path).result("read_file", path="noise.png")

    assert "is a picture: PNG, 2000 × 1000 pixels" in result.output
    assert [image.media_type for image in result.content] == ["image/jpeg"]
