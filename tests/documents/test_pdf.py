"""Pages of PDF files, as text and as pictures."""

import os
import zlib
from pathlib import Path

import pytest

from tests.documents.test_images import opened
from tests.support.pictures import pdf, write
from toolgate import ErrorCode
from toolgate.documents import pdf as module
from toolgate.documents.pdf import PdfPages, parse_pages, read_pdf
from toolgate.errors import ToolError
from toolgate.workspace import Stop


def read(tmp_path: Path, data: bytes, pages: str = "", *, pictures: bool = False) -> PdfPages:
    with opened(write(tmp_path / "a.pdf", data)) as fd:
        return read_pdf(Stop(), fd, "a.pdf", pages, pictures=pictures)


def test_all_pages_as_text(tmp_path: Path) -> None:
    found = read(tmp_path, pdf("Hello", "World"))
    assert [(number, text.strip()) for number, text in found.texts] == [(1, "Hello"), (2, "World")]
    assert (found.count, found.next_page, found.images) == (2, None, ())


def test_some_pages(tmp_path: Path) -> None:
    found = read(tmp_path, pdf(*map(str, range(1, 10))), "3-4")
    assert [text.strip() for _, text in found.texts] == ["3", "4"]
    assert (found.count, found.first, found.last, found.next_page) == (9, 3, 4, None)


def test_a_long_document_says_where_to_go_on(tmp_path: Path) -> None:
    found = read(tmp_path, pdf(*["word " * 500] * 40))
    assert found.next_page == len(found.texts) + 1 < 40


def test_pages_as_pictures(tmp_path: Path) -> None:
    found = read(tmp_path, pdf(*"abcdef"), "2-", pictures=True)
    assert [image.name for image in found.images] == [f"a.pdf, page {number}" for number in (2, 3, 4, 5)]
    assert found.next_page == 6
    assert (found.images[0].width, found.images[0].height) == (450, 300)


@pytest.mark.parametrize(
    ("pages", "wanted"), [("", (1, None)), ("3", (3, 3)), ("3-5", (3, 5)), ("3-", (3, None)), (" 3 - 5 ", (3, 5))]
)
def test_ranges(pages: str, wanted: tuple[int, int | None]) -> None:
    assert parse_pages(pages) == wanted


@pytest.mark.parametrize("pages", ["0", "5-3", "a", "-3", "1,2", "1-2-3", "١", "9999999"])
def test_a_range_that_is_none_says_what_is_expected(pages: str) -> None:
    with pytest.raises(ToolError) as caught:
        parse_pages(pages)
    assert caught.value.code is ErrorCode.INVALID_PARAM


def test_a_page_that_is_not_there(tmp_path: Path) -> None:
    with pytest.raises(ToolError, match="has 2 pages; there is no page 9"):
        read(tmp_path, pdf("a", "b"), "9")


def refused(tmp_path: Path, data: bytes, *, pictures: bool = False) -> str:
    with pytest.raises(ToolError) as caught:
        read(tmp_path, data, pictures=pictures)
    assert caught.value.code is ErrorCode.BINARY_FILE
    return caught.value.message


@pytest.mark.parametrize("pictures", [False, True])
@pytest.mark.parametrize("data", [b"%PDF-1.4\n garbage", b"%PDF-1.7", pdf("a")[:150]])
def test_a_broken_file(tmp_path: Path, data: bytes, pictures: bool) -> None:
    assert "broken" in refused(tmp_path, data, pictures=pictures)


def test_a_tree_of_pages_without_end(tmp_path: Path) -> None:
    data = pdf("a").replace(b"/Kids [4 0 R]", b"/Kids [2 0 R]")
    assert "a.pdf" in refused(tmp_path, data)


def test_a_page_that_unpacks_without_end_is_ended_within_its_limits(tmp_path: Path) -> None:
    packed = zlib.compress(b"BT /F1 9 Tf (a) Tj ET\n" * 40_000_000, 9)
    stream = f"<< /Length {len(packed)} /Filter /FlateDecode >>\nstream\n".encode() + packed + b"\nendstream"
    data = pdf("a")
    begin = data.index(b"<< /Length")
    end = data.index(b"endstream") + len(b"endstream")
    assert "a.pdf" in refused(tmp_path, data[:begin] + stream + data[end:])


def test_a_file_that_is_too_large_is_not_read(tmp_path: Path) -> None:
    path = write(tmp_path / "big.pdf", pdf("a"))
    os.truncate(path, module.MAX_FILE + 1)
    with opened(path) as fd, pytest.raises(ToolError, match="PDF files are read up to"):
        read_pdf(Stop(), fd, "big.pdf", "", pictures=False)


@pytest.mark.parametrize(("pictures", "package"), [(False, "pypdf"), (True, "pypdfium2")])
def test_a_missing_package_is_named(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, pictures: bool, package: str
) -> None:
    monkeypatch.setattr(module, "is_installed", lambda name: name != package)
    assert f"the package {package}" in refused(tmp_path, pdf("a"), pictures=pictures)


def test_a_file_with_a_password(tmp_path: Path) -> None:
    import pypdf

    writer = pypdf.PdfWriter()
    writer.add_blank_page(100, 100)
    writer.encrypt("secret", algorithm="RC4-128")
    path = tmp_path / "locked.pdf"
    writer.write(str(path))
    for pictures in (False, True):
        assert "encrypted with a password" in refused(tmp_path, path.read_bytes(), pictures=pictures)
