"""Finding text in files."""

import os
import re

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from toolgate.workspace import Stop
from toolgate.workspace import find_text as module
from toolgate.workspace.encoding import UTF_8, Encoding, detect
from toolgate.workspace.find_text import FileContent, LoadedContent, TextMatches
from toolgate.workspace.lines import BLOCK, LineIndex
from toolgate.workspace.pieces import write_all
from toolgate.workspace.root import OpenedFile


def search(
    content: bytes, text: str, encoding: Encoding = UTF_8, limit: int = 1000, *, check: bool = False
) -> TextMatches:
    """Search a file, and see that the search in memory finds the same."""
    fd = os.memfd_create("test")
    try:
        write_all(fd, content)
        index = LineIndex(encoding, len(content))
        found = FileContent(OpenedFile(fd, "test", os.fstat(fd))).find(Stop(), text, index, limit, check=check)
    finally:
        os.close(fd)
    in_memory = LoadedContent(content).find(Stop(), text, index, limit, check=check)
    assert (in_memory.spans, in_memory.has_nul) == (found.spans, found.has_nul)
    assert (in_memory.damaged is None) == (found.damaged is None)
    return found


def find(content: bytes, text: str, encoding: Encoding = UTF_8, limit: int = 1000) -> list[tuple[int, int]]:
    return search(content, text, encoding, limit).spans


def test_matches_do_not_overlap() -> None:
    assert find(b"aaaa aa", "aa") == [(0, 2), (2, 4), (5, 7)]


def test_a_line_end_matches_whichever_the_file_has() -> None:
    assert find(b"a\r\nb a\nb a\rb", "a\nb") == [(0, 4), (5, 8)]
    assert find(b"a\nb", "a\r\nb") == [(0, 3)]


def test_special_characters_are_literal() -> None:
    assert find(b"a.b*c a+b", "a.b*c") == [(0, 5)]
    assert find(b"axb\nc a.b\nc", "a.b\nc") == [(6, 11)]


def test_utf_16_is_found_only_at_whole_characters() -> None:
    content = b"\xff\xfe" + "\u0a61\u610a a\n".encode("utf-16-le")

    assert find(content, "a", detect(content, "f")) == [(8, 10)]
    assert find(content, "\n", detect(content, "f")) == [(10, 12)]


def test_the_byte_order_mark_is_not_part_of_the_text() -> None:
    content = b"\xef\xbb\xbfx"

    assert find(content, "\ufeff", detect(content, "f")) == []


def test_nul_is_seen() -> None:
    assert search(b"abc\0", "x").has_nul


def test_what_is_no_text_is_seen_if_that_is_requested() -> None:
    assert search(b"abc\xff", "x", check=True).damaged is not None
    assert search(b"abc\xc3", "x", check=True).damaged is not None
    assert search(b"abc\xc3\xa4", "x", check=True).damaged is None


@pytest.mark.parametrize("start", [0, 100, BLOCK - 3, BLOCK, 2 * BLOCK + 5])
def test_lines_up_to_the_first_match_are_counted_on_the_way(start: int) -> None:
    content = ("line\n" * BLOCK)[:start] + "here" + "\nmore here" * 3 * BLOCK
    fd, index = os.memfd_create("test"), LineIndex(UTF_8, len(content))

    def read_again(length: int, offset: int) -> bytes:
        assert (offset % BLOCK, length) == (0, start % BLOCK), "only the lines before it in its own block"
        return os.pread(fd, length, offset)

    try:
        write_all(fd, content.encode())
        found = FileContent(OpenedFile(fd, "test", os.fstat(fd))).find(Stop(), "here", index, 5)
        index.extend(read_again, Stop(), offset=start)
        assert index.line_at(read_again, start) == content.count("\n", 0, start) + 1
    finally:
        os.close(fd)
    assert found.spans[0] == (start, start + 4)


def test_no_more_than_wanted() -> None:
    assert find(b"xxxx", "x", limit=2) == [(0, 1), (1, 2)]


@settings(deadline=None)
@given(
    content=st.text("ab\r\n", max_size=60),
    needle=st.text("ab\n", min_size=1, max_size=5),
    buffer=st.integers(1, 20),
)
def test_blocks_make_no_difference(content: str, needle: str, buffer: int) -> None:
    pattern = re.compile(r"\r?\n".join(map(re.escape, needle.split("\n"))))
    expected = [match.span() for match in pattern.finditer(content)]
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(module, "_BUFFER", buffer)
        found = find(content.encode(), needle)

    assert found == expected


@settings(deadline=None)
@given(
    content=st.text("a\r\n\U0001f600\u0d0a", max_size=40),
    needle=st.text("a\n\U0001f600\u0d0a", min_size=1, max_size=4),
    buffer=st.integers(2, 20),
)
def test_utf_16_is_found_with_any_line_end(content: str, needle: str, buffer: int) -> None:
    pattern = re.compile(r"\r?\n".join(map(re.escape, needle.split("\n"))))
    spans = [match.span() for match in pattern.finditer(content)]
    expected = [tuple(2 + len(content[:at].encode("utf-16-le")) for at in span) for span in spans]
    data = b"\xff\xfe" + content.encode("utf-16-le")
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(module, "_BUFFER", buffer)
        assert find(data, needle, detect(data, "f")) == expected


def test_half_a_line_end_is_found_where_it_is_exactly_so() -> None:
    assert find(b"x\na\r\nx\na", "x\na\r") == [(0, 4)]
    assert find(b"x\r\na\r\n", "x\na\r") == [(0, 5)]


@pytest.mark.timeout(20)
@pytest.mark.parametrize("ends", ["lf", "crlf", "mixed"])
def test_the_time_does_not_grow_with_the_text(ends: str) -> None:
    content = {"lf": b"\n\n", "crlf": b"\r\n", "mixed": b"\n\r\n"}[ends] * (1 << 17)
    assert not find(content, "\n" * 5000 + "x")
    assert len(find(content + b"x", "\n" * 5000 + "x")) == 1
