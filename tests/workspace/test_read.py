"""Windows of lines."""

import os
from dataclasses import replace
from pathlib import Path

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from toolgate.errors import ToolError
from toolgate.workspace import Stop, Stopped, Workspace
from toolgate.workspace import read as module
from toolgate.workspace.lines import BLOCK
from toolgate.workspace.read import Window, read_first_page, read_window

PLENTY = 10**9


@pytest.fixture
def workspace(tmp_path: Path) -> Workspace:
    return Workspace(tmp_path)


def read(workspace: Workspace, content: bytes, start: int = 1, limit: int = 2000, budget: int = PLENTY) -> Window:
    (workspace.root / "f").write_bytes(content)
    return read_window(Stop(), workspace, "f", start, limit, budget)


def test_lines_are_numbered_in_six_columns(workspace: Workspace) -> None:
    window = read(workspace, b"one\ntwo\n")

    assert (window.numbered(), window.total_lines, window.more) == ("     1\tone\n     2\ttwo", 2, False)


def test_numbers_keep_their_place_up_to_six_digits_and_then_grow(workspace: Workspace) -> None:
    window = read(workspace, b"x\n" * 1_000_001, start=999_999)

    assert window.numbered() == "999999\tx\n1000000\tx\n1000001\tx"


def test_lines_that_follow_are_announced(workspace: Workspace) -> None:
    window = read(workspace, b"a\nb\nc\n", limit=2)

    assert (window.lines, window.more, window.total_lines) == (["a", "b"], True, 3)


def test_the_last_line_needs_no_newline(workspace: Workspace) -> None:
    window = read(workspace, b"a\nb")

    assert (window.lines, window.total_lines) == (["a", "b"], 2)


@pytest.mark.parametrize("start", [4, 10**12, 10**30])
def test_past_the_end_there_is_nothing(workspace: Workspace, start: int) -> None:
    window = read(workspace, b"a\nb\nc\n", start=start)

    assert (window.lines, window.more, window.total_lines) == ([], False, 3)


@pytest.mark.parametrize("content", [b"", b"\xef\xbb\xbf", b"\xff\xfe"])
def test_an_empty_file_has_no_lines(workspace: Workspace, content: bytes) -> None:
    window = read(workspace, content)

    assert (window.lines, window.total_lines, window.more) == ([], 0, False)


def test_only_newlines_end_lines(workspace: Workspace) -> None:
    window = read(workspace, "a\rb\x0bc\x0cd\x85e\u2028f\ng\r\nh".encode())

    assert (window.lines, window.crlf) == (["a\rb\x0bc\x0cd\x85e\u2028f", "g", "h"], True)


def test_a_long_line_is_clipped_and_says_so(workspace: Workspace) -> None:
    window = read(workspace, b"short\n" + b"x" * 2001 + b"\n" + b"y" * 2000)

    assert window.lines[1] == "x" * 2000 + "… [clipped: 2000 of 2001 characters]"
    assert (window.lines[2], window.clipped) == ("y" * 2000, [2])


def test_a_line_over_several_blocks_is_clipped_by_characters(workspace: Workspace) -> None:
    window = read(workspace, "é".encode() * BLOCK + b"\nnext\n")

    assert window.lines == ["é" * 2000 + f"… [clipped: 2000 of {BLOCK} characters]", "next"]


def test_a_budget_ends_the_window_but_not_before_its_first_line(workspace: Workspace) -> None:
    content = b"x" * 1000 + b"\n" + b"y" * 10 + b"\n"
    first = read(workspace, content, budget=100)
    both = read(workspace, content, budget=1100)

    assert ([len(line) for line in first.lines], first.more) == ([1000], True)
    assert ([len(line) for line in both.lines], both.more) == ([1000, 10], False)


def test_a_budget_counts_bytes(workspace: Workspace) -> None:
    assert len(read(workspace, ("日" * 30 + "\n").encode() * 100, budget=1000).lines) == 10


def test_everything_can_be_paged_through(workspace: Workspace) -> None:
    content = b"".join(b"%d %s\n" % (number, b"x" * (number % 300)) for number in range(5000))
    (workspace.root / "f").write_bytes(content)
    lines: list[str] = []
    while True:
        window = read_window(Stop(), workspace, "f", len(lines) + 1, 700, 20_000)
        lines += window.lines
        if not window.more:
            break

    assert "\n".join(lines).encode() + b"\n" == content


@pytest.mark.parametrize("encoding", ["utf-8", "utf-8-sig", "utf-16-le", "utf-16-be"])
def test_supported_encodings_are_decoded(workspace: Workspace, encoding: str) -> None:
    mark = {"utf-16-le": b"\xff\xfe", "utf-16-be": b"\xfe\xff"}.get(encoding, b"")
    window = read(workspace, mark + "héllo\r\nwörld 😀\n".encode(encoding))

    assert (window.lines, window.encoding, window.crlf) == (["héllo", "wörld 😀"], encoding, True)


def test_the_end_is_not_searched_for_only_to_count(workspace: Workspace) -> None:
    window = read(workspace, b"x\n" * 2_000_000, limit=10)

    assert (window.more, window.total_lines) == (True, None)


def test_a_search_that_takes_too_long_ends_and_the_next_goes_on(
    workspace: Workspace, monkeypatch: pytest.MonkeyPatch
) -> None:
    (workspace.root / "f").write_bytes(b"x\n" * 2_000_000)
    os.utime(workspace.root / "f", (1, 1))
    monkeypatch.setattr("toolgate.workspace.lines._SETTLED_NS", -1)
    monkeypatch.setattr(module, "PATIENCE", 0.0)
    ends = [read_window(Stop(), workspace, "f", 1_900_000, 1, PLENTY).searched for _ in range(3)]
    monkeypatch.setattr(module, "PATIENCE", 60.0)
    found = read_window(Stop(), workspace, "f", 1_900_000, 1, PLENTY)

    assert ends[0] is not None
    assert (found.lines, found.searched) == (["x"], None)


def test_a_second_window_reads_only_what_it_needs(workspace: Workspace, monkeypatch: pytest.MonkeyPatch) -> None:
    (workspace.root / "f").write_bytes(b"x" * 99 + b"\n" * 1 + (b"x" * 99 + b"\n") * 100_000)
    monkeypatch.setattr("toolgate.workspace.lines._SETTLED_NS", -1)
    read_window(Stop(), workspace, "f", 100_000, 10, PLENTY)
    count = 0
    pread = os.pread

    def counted(fd: int, length: int, offset: int) -> bytes:
        nonlocal count
        data = pread(fd, length, offset)
        count += len(data)
        return data

    monkeypatch.setattr(os, "pread", counted)
    window = read_window(Stop(), workspace, "f", 50_000, 10, PLENTY)

    assert (len(window.lines), count < 4 * BLOCK) == (10, True)


def test_a_file_that_changed_is_indexed_anew(workspace: Workspace, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("toolgate.workspace.lines._SETTLED_NS", -1)
    before = read(workspace, b"a\n" * 200_000, start=150_000, limit=1)
    after = read(workspace, b"bb\n" * 200_000, start=150_000, limit=1)

    assert (before.lines, after.lines) == (["a"], ["bb"])


def test_a_stopped_call_ends_the_search(workspace: Workspace) -> None:
    (workspace.root / "f").write_bytes(b"x\n" * 1000)
    stop = Stop()
    stop.set()
    with pytest.raises(Stopped):
        read_window(stop, workspace, "f", 500, 1, PLENTY)


@pytest.mark.parametrize(
    "content", [b"a\0b\n", b"\x89PNG\r\n", b"%PDF-1.7\n", b"\x1f\x8b\x08", "ab\n".encode("utf-16-le")]
)
def test_binary_content_is_refused(workspace: Workspace, content: bytes) -> None:
    with pytest.raises(ToolError) as caught:
        read(workspace, content)

    assert caught.value.code == "BINARY_FILE"


def test_text_in_another_encoding_is_read_as_such_wherever_it_begins(workspace: Workspace) -> None:
    window = read(workspace, b"x\n" * 10_000 + "café\n".encode("latin-1"), limit=20_000)

    assert (window.lines[-1], window.encoding, window.total_lines) == ("café", "latin-1", 10_001)
    assert 0.5 < window.confidence < 1


def test_memory_stays_flat_for_a_large_file(workspace: Workspace) -> None:
    import tracemalloc

    (workspace.root / "f").write_bytes((b"x" * 99 + b"\n") * 400_000)
    tracemalloc.start()
    try:
        read_window(Stop(), workspace, "f", 400_000, 10, PLENTY)
        _, peak = tracemalloc.get_traced_memory()
    finally:
        tracemalloc.stop()

    assert peak < 8 << 20


@settings(max_examples=150, deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(
    text=st.text(st.sampled_from("aé日😀 \r\n\t"), max_size=300),
    encoding=st.sampled_from(["utf-8", "utf-8-sig", "utf-16"]),
    start=st.integers(1, 60),
    limit=st.integers(1, 60),
    block=st.sampled_from([2, 6, 64]),
)
def test_a_window_is_what_splitting_the_text_gives(
    tmp_path: Path, text: str, encoding: str, start: int, limit: int, block: int
) -> None:
    with pytest.MonkeyPatch.context() as patch:
        for name in ("lines", "collect"):
            patch.setattr(f"toolgate.workspace.{name}.BLOCK", block)
        window = read(Workspace(tmp_path), text.encode(encoding), start, limit)
    lines = text.split("\n")
    if not lines[-1]:
        lines.pop()
    ended = len(text.split("\n")) - 1
    shown = [line.removesuffix("\r") if number < ended else line for number, line in enumerate(lines)]

    assert (window.lines, window.more) == (shown[start - 1 :][:limit], start - 1 + limit < len(shown))
    assert window.total_lines == len(shown)


def _first_page(workspace: Workspace, path: str, limit: int, budget: int) -> Window:
    """The first page, asked for again and again: while others change directories, the kernel may want to wait."""
    for _ in range(10_000):
        if (page := read_first_page(workspace, path, limit, budget)) is not None:
            return page
    pytest.fail("it is never read at once")


@pytest.mark.parametrize(
    "content",
    [b"", b"one\n", b"x\n" * 5000, ("é" * 90 + "\n").encode() * 20_000, b"x" * 5000 + b"\r\ny"],
    ids=["empty", "small", "many lines", "large", "long line"],
)
def test_a_first_page_at_once_is_the_same_page(workspace: Workspace, content: bytes) -> None:
    waited = read(workspace, content, limit=2000, budget=400_000)

    page = _first_page(workspace, "f", 2000, 400_000)

    assert replace(page, stat=waited.stat) == waited  # reading the file changes the time of its last access
    assert page.stat.st_ino == waited.stat.st_ino


@pytest.mark.parametrize(
    ("content", "limit"),
    [(b"x\n" * 300_000, 2000), (b"x" * 5_000_000, 2000), (b"x\n", 2001)],
    ids=["lines to count", "an endless line", "many lines"],
)
def test_what_takes_longer_is_not_read_at_once(workspace: Workspace, content: bytes, limit: int) -> None:
    (workspace.root / "f").write_bytes(content)

    assert read_first_page(workspace, "f", limit, PLENTY) is None


def test_what_needs_a_disk_is_not_read_at_once(workspace: Workspace, monkeypatch: pytest.MonkeyPatch) -> None:
    (workspace.root / "f").write_bytes(b"x\n")

    def would_block(*_: object) -> int:
        raise BlockingIOError

    monkeypatch.setattr(os, "preadv", would_block)

    assert read_first_page(workspace, "f", 10, PLENTY) is None


def test_a_half_cached_file_is_not_read_at_once(workspace: Workspace, monkeypatch: pytest.MonkeyPatch) -> None:
    (workspace.root / "f").write_bytes(b"x\n")
    monkeypatch.setattr(os, "preadv", lambda *_: 1)

    assert read_first_page(workspace, "f", 10, PLENTY) is None


def test_walking_is_never_at_once(tmp_path: Path) -> None:
    (tmp_path / "f").write_bytes(b"x\n")

    assert read_first_page(Workspace(tmp_path, confinement="walk"), "f", 10, PLENTY) is None


def test_a_first_page_is_refused_like_any_other(workspace: Workspace) -> None:
    (workspace.root / "d").mkdir()
    with pytest.raises(ToolError) as directory:
        _first_page(workspace, "d", 10, PLENTY)
    with pytest.raises(ToolError) as outside:
        _first_page(workspace, "../f", 10, PLENTY)

    assert (directory.value.code, outside.value.code) == ("IS_DIRECTORY", "ACCESS_DENIED")


def test_what_the_kernel_does_not_remember_is_not_looked_up_at_once(workspace: Workspace) -> None:
    assert read_first_page(workspace, "missing", 10, PLENTY) is None
