"""Parsing the stream of a search."""

from typing import Any

import pytest

from toolgate.search.matches import CLIPPED, MAX_LINE, MAX_SKIPPED, Matches, MatchStream


def found(stream: bytes, *, limit: int = 100, after: int = 0, chunk: int = 1 << 20) -> Matches:
    """What is found in a stream that arrives in pieces."""
    result = Matches(limit=limit, after=after)
    parser = MatchStream(result)
    for start in range(0, len(stream), chunk):
        parser.feed(stream[start : start + chunk])
    parser.finish()
    return result


def match(file: str, line: int, text: str) -> dict[str, Any]:
    return {"file": file, "line": line, "text": text}


@pytest.mark.parametrize("chunk", [1, 3, 1000])
def test_records_are_sorted_by_path_whatever_their_order(chunk: int) -> None:
    stream = b"./b\x001\0Mx\n./b\x003\0My\n./a\nc\x002\0Mz\r\n"

    result = found(stream, chunk=chunk)

    assert result.first(0, 0, "p/") == ([match("p/a\nc", 2, "z"), match("p/b", 1, "x"), match("p/b", 3, "y")], 0)
    assert (result.total, result.files) == (3, 2)


def test_context_belongs_to_every_match_that_it_is_near() -> None:
    stream = b"./a\x001\0Cone\n./a\x002\0Mtwo\n./a\x003\0Mthree\n./a\x004\0Cfour\n"

    matches, _ = found(stream, after=1).first(1, 1, "")

    assert matches == [
        {**match("a", 2, "two"), "before": ["one"], "after": ["three"]},
        {**match("a", 3, "three"), "before": ["two"], "after": ["four"]},
    ]


def test_the_limit_keeps_the_first_by_path_and_counts_all() -> None:
    stream = b"".join(b"./f%04d\x001\0Mx\n./f%04d\x002\0My\n" % (9999 - n, 9999 - n) for n in range(3000))

    result = found(stream, limit=3, chunk=4096)

    assert [entry["file"] for entry in result.first(0, 0, "")[0]] == ["f7000", "f7000", "f7001"]
    assert (result.total, result.files) == (6000, 3000)


def test_one_file_with_too_many_matches_keeps_the_context_of_the_last() -> None:
    stream = b"".join(b"./a\x00%d\0Mline %d\n" % (n, n) for n in range(1, 1001))

    result = found(stream, limit=2, after=1)

    assert result.first(0, 1, "")[0] == [
        {**match("a", 1, "line 1"), "after": ["line 2"]},
        {**match("a", 2, "line 2"), "after": ["line 3"]},
    ]
    assert result.total == 1000


def test_a_file_that_turned_out_to_be_binary_is_skipped() -> None:
    warning = b'./b: WARNING: stopped searching binary file after match (found "\\0" byte around offset 9)\n'

    result = found(
        b"./b\x001\0Mx\n" + warning + b"./c\x001\0My\n" + b"./d\x001\0Mz\n" + warning.replace(b"./b", b"./d")
    )

    assert result.first(0, 0, "")[0] == [match("c", 1, "y")]
    assert (result.skipped, result.total) == ({"b": "binary", "d": "binary"}, 1)


def test_long_lines_are_clipped_and_counted() -> None:
    matches, clipped = found(b"./a\x001\0M" + "é".encode() * 5000 + b"\n").first(0, 0, "")

    assert (matches, clipped) == ([match("a", 1, "é" * MAX_LINE + CLIPPED)], 1)


def test_a_monstrous_line_does_not_stay_in_memory() -> None:
    stream = b"./a\x001\0M" + b"x" * (8 << 20) + b"\n./b\x001\0My\n"

    assert [entry["file"] for entry in found(stream, chunk=1 << 16).first(0, 0, "")[0]] == ["a", "b"]


def test_bytes_that_are_not_utf8_are_replaced() -> None:
    assert found(b"./\xff\x001\0M\xfe\n").first(0, 0, "")[0] == [match("\ufffd", 1, "\ufffd")]


def test_only_so_many_skipped_files_are_remembered_and_all_are_counted() -> None:
    result = found(b"".join(b"./f%d\x000\0Sbinary\n" % number for number in range(MAX_SKIPPED + 5)))

    assert (len(result.skipped), result.total_skipped) == (MAX_SKIPPED, MAX_SKIPPED + 5)
