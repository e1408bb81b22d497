"""Lines of files that are huge, sparse or binary."""

from collections.abc import Iterator

import pytest

from tests.support.arena import Arena, arena_for
from tests.support.privileges import UIDS

PNG = b"\x89PNG\r\n\x1a\n\0\0\0\rIHDR"

ELF = b"\x7fELF\x02\x01\x01" + bytes(9) + b"\x03\0>\0"


@pytest.fixture(params=UIDS)
def arena(request: pytest.FixtureRequest) -> Iterator[Arena]:
    with arena_for(request.param) as made:
        yield made


def test_f04_a_huge_sparse_file_is_read_partially_and_fast(arena: Arena) -> None:
    with (arena.root / "sparse").open("wb") as file:
        file.truncate(10 << 30)
    outcomes = arena.calls(
        [("read_file", {"path": "sparse"}), ("read_file", {"path": "sparse", "start_line": 1_000_000_000})]
    )

    assert [outcome.status for outcome in outcomes] == ["partial", "partial"]
    assert all(outcome.data["truncated"] and outcome.seconds < 2 for outcome in outcomes)


def test_f04_what_was_written_before_a_hole_is_read(arena: Arena) -> None:
    with (arena.root / "sparse").open("wb") as file:
        file.write(b"one\ntwo\n" * 1000)
        file.truncate(10 << 30)
    outcome = arena.call("read_file", path="sparse", start_line=1999)

    assert (outcome.status, outcome.data["content"].splitlines()[:2]) == ("partial", ["  1999\tone", "  2000\ttwo"])


def test_f05_one_line_of_500_mb_is_clipped(arena: Arena) -> None:
    with (arena.root / "long").open("wb") as file:
        for _ in range(500):
            file.write(b"x" * 1_000_000)
    read, searched = arena.calls([("read_file", {"path": "long"}), ("grep", {"path": "long", "pattern": "y"})])

    assert (read.status, read.data["truncated"], read.growth < 8) == ("partial", True, True)
    assert read.data["content"].startswith("     1\t" + "x" * 2000 + "… [clipped: 2000 of 500000000 characters]")
    # on a busy machine the search may run into its own deadline, which is an answer too
    assert searched.data["matches"] == [] if searched.code is None else searched.code == "TIMEOUT"


@pytest.mark.parametrize(
    "content", [PNG, ELF, b"text\0text\n", b"a\n" * 4_000 + b"\0"], ids=["png", "elf", "nul", "late nul"]
)
def test_f06_a_binary_file_is_neither_read_nor_edited(arena: Arena, content: bytes) -> None:
    (arena.root / "bin").write_bytes(content)
    read, edited = arena.calls(
        [
            ("read_file", {"path": "bin", "limit": 100_000}),
            ("edit_file", {"path": "bin", "old_string": "e", "new_string": "f"}),
        ]
    )

    assert (read.code, edited.code) == ("BINARY_FILE", "BINARY_FILE")
    assert (arena.root / "bin").read_bytes() == content


def test_f14_windows_at_the_edges(arena: Arena) -> None:
    (arena.root / "ten").write_text("x\n" * 10)
    far, *others = arena.calls(
        [
            ("read_file", {"path": "ten", "start_line": 10**12}),
            *[("read_file", {"path": "ten", "limit": limit}) for limit in (0, -1, True, 1.5, "3")],
            *[("read_file", {"path": "ten", "start_line": start}) for start in (0, True, 1.5, "3")],
        ]
    )

    assert (far.status, far.data) == ("success", {"content": "", "truncated": False})
    assert {outcome.code for outcome in others} == {"INVALID_PARAM"}
