"""Exact replacements."""

import os
from pathlib import Path

import pytest
from hypothesis import HealthCheck, assume, given, settings
from hypothesis import strategies as st

from toolgate.errors import ToolError
from toolgate.workspace import Stop, Workspace
from toolgate.workspace import edit as module
from toolgate.workspace.edit import Edit, PlannedEdit, plan_at_once, plan_edit
from toolgate.workspace.journal_entries import Origin
from toolgate.workspace.seen_files import SeenFiles
from toolgate.workspace.write import commit


@pytest.fixture
def workspace(tmp_path: Path) -> Workspace:
    return Workspace(tmp_path)


def plan(workspace: Workspace, content: bytes, *edits: Edit) -> PlannedEdit:
    (workspace.root / "f").write_bytes(content)
    return plan_edit(Stop(), workspace, "f", edits, SeenFiles())


def edited(workspace: Workspace, content: bytes, *edits: Edit) -> bytes:
    planned = plan(workspace, content, *edits)
    commit(Stop(), workspace, planned.change, Origin())
    return (workspace.root / "f").read_bytes()


def error_of(workspace: Workspace, content: bytes, *edits: Edit) -> ToolError:
    with pytest.raises(ToolError) as caught:
        plan(workspace, content, *edits)
    assert (workspace.root / "f").read_bytes() == content
    return caught.value


def test_one_match_is_replaced(workspace: Workspace) -> None:
    assert edited(workspace, b"a b c", Edit(old="b", new="B")) == b"a B c"


def test_text_can_be_deleted(workspace: Workspace) -> None:
    assert edited(workspace, b"a b c", Edit(old=" b", new="")) == b"a c"


def test_an_ambiguous_match_is_refused_with_all_positions(workspace: Workspace) -> None:
    error = error_of(workspace, "é x\nx x\n".encode(), Edit(old="x", new="y"))

    assert (error.code, error.data) == (
        "INVALID_PARAM",
        {
            "occurrences": 3,
            "positions": [{"line": 1, "column": 3}, {"line": 2, "column": 1}, {"line": 2, "column": 3}],
        },
    )
    assert "at lines 1, 2, 2" in error.message


def test_all_matches_are_replaced_literally(workspace: Workspace) -> None:
    assert edited(workspace, b"a.b axb a.b", Edit(old="a.b", new="\\1", replace_all=True)) == b"\\1 axb \\1"


def test_the_first_match_can_be_taken(workspace: Workspace) -> None:
    assert edited(workspace, b"x x", Edit(old="x", new="y", first_only=True)) == b"y x"


def test_a_miss_says_how_close_it_came(workspace: Workspace) -> None:
    error = error_of(workspace, b"one\n  two\nthree\n", Edit(old="one\ntwo", new="x"))

    assert (error.code, "not found" in error.message) == ("INVALID_PARAM", True)
    assert error.data["nearest"]["first_difference"] == {"line": 2, "expected": "two", "actual": "  two"}


@pytest.mark.parametrize("edit", [Edit(old="", new="x"), Edit(old="x", new="x"), Edit(old="\ud800", new="x")])
def test_what_is_no_edit_is_refused(workspace: Workspace, edit: Edit) -> None:
    assert error_of(workspace, b"x", edit).code == "INVALID_PARAM"


def test_a_missing_file_is_not_found_and_the_way_to_make_one_is_named(workspace: Workspace) -> None:
    with pytest.raises(ToolError) as caught:
        plan_edit(Stop(), workspace, "nope", [Edit(old="a", new="b")], SeenFiles())

    assert (caught.value.code, "write_file" in caught.value.next_step) == ("NOT_FOUND", True)


@pytest.mark.parametrize(
    ("content", "old", "new", "expected"),
    [
        (b"a\r\nb\r\nc\r\n", "a\nb", "x\ny\nz", b"x\r\ny\r\nz\r\nc\r\n"),
        (b"a\r\nb\r\n", "a", "x\ny", b"x\r\ny\r\nb\r\n"),
        (b"a\r\nb", "b", "x\ny", b"a\r\nx\r\ny"),
        (b"a\nb\r\nc\r\n", "a\nb", "x\ny", b"x\ny\r\nc\r\n"),
        (b"a\nb\n", "a\r\nb", "x\ny", b"x\ny\n"),
        (b"a\r\nb\r\n", "a", "x\r\ny", b"x\r\ny\r\nb\r\n"),
        (b"a\nb\n", "a", "x\r\ny", b"x\r\ny\nb\n"),
        (b"a", "a", "x\ny", b"x\ny"),
        (b"a\r\nb\nc\r\nd\n", "a\nb\nc", "a\nb\nX", b"a\r\nb\nX\r\nd\n"),
        (b"a\nb\r\nc\nd\r\n", "a\nb\nc\nd\n", "a\nb\nc\nnew\nd\n", b"a\nb\r\nc\nnew\nd\r\n"),
    ],
)
def test_line_ends_are_those_of_the_place(
    workspace: Workspace, content: bytes, old: str, new: str, expected: bytes
) -> None:
    assert edited(workspace, content, Edit(old=old, new=new)) == expected


def test_several_edits_are_made_in_order(workspace: Workspace) -> None:
    assert edited(workspace, b"a b", Edit(old="a", new="c"), Edit(old="c b", new="d")) == b"d"


def test_several_edits_are_made_all_or_not_at_all(workspace: Workspace) -> None:
    error = error_of(workspace, b"a b", Edit(old="a", new="c"), Edit(old="missing", new="d"))

    assert error.message.startswith("Edit 2 of 2 (none was made): old_string was not found")


def test_edits_that_cancel_each_other_out_are_refused(workspace: Workspace) -> None:
    assert error_of(workspace, b"a", Edit(old="a", new="b"), Edit(old="b", new="a")).code == "INVALID_PARAM"


def test_an_edit_that_would_only_change_what_the_place_decides_is_refused(workspace: Workspace) -> None:
    assert error_of(workspace, b"a\r\nb", Edit(old="a\r\nb", new="a\nb")).code == "INVALID_PARAM"


def test_no_utf_8_is_mixed_into_text_that_turns_out_to_be_something_else(workspace: Workspace) -> None:
    content = b"x = 1\n" * 3000 + "café\n".encode("latin-1") + b"needle\n"

    assert edited(workspace, content, Edit(old="needle", new="é")) == content.replace(b"needle", b"\xe9")
    assert "has no character '日'" in error_of(workspace, content, Edit(old="needle", new="日")).message
    assert edited(workspace, content, Edit(old="needle", new="pin")) == content.replace(b"needle", b"pin")


def test_the_diff_shows_the_lines_around_the_change(workspace: Workspace) -> None:
    content = b"".join(b"line %d\n" % number for number in range(1, 10_001))
    planned = plan(workspace, content, Edit(old="line 5000\n", new="new\nnewer\n"))

    assert planned.diff.text == (
        "--- a/f\n+++ b/f\n@@ -4997,7 +4997,8 @@\n line 4997\n line 4998\n line 4999\n-line 5000\n+new\n+newer\n"
        " line 5001\n line 5002\n line 5003\n"
    )


def test_the_diff_of_distant_changes_counts_on(workspace: Workspace) -> None:
    content = b"".join(b"line %d\n" % number for number in range(1, 101)).replace(b"line 90\n", b"line 10\n")
    planned = plan(workspace, content, Edit(old="line 10\n", new="x\ny\n", replace_all=True))

    hunks = [line for line in planned.diff.text.splitlines() if line.startswith("@@")]
    assert hunks == ["@@ -7,7 +7,8 @@", "@@ -87,7 +88,8 @@"]


def test_the_diff_of_an_endless_line_is_cut_around_the_change(workspace: Workspace) -> None:
    planned = plan(workspace, b"x" * 100_000 + b"needle" + b"x" * 100_000, Edit(old="needle", new="pin"))

    assert len(planned.diff.text) < 80_000
    assert "…xxx" in planned.diff.text


@pytest.mark.parametrize("replace_all", [True, False])
def test_large_files_are_spliced(workspace: Workspace, monkeypatch: pytest.MonkeyPatch, replace_all: bool) -> None:
    monkeypatch.setattr(module, "_IN_MEMORY", 10)
    content = b"a\n" * 1000 + b"needle\n" + b"b\n" * 1000
    edit = Edit(old="needle", new="pin", replace_all=replace_all)
    planned = plan(workspace, content, edit)

    assert any(not isinstance(piece, bytes) for piece in planned.change.pieces)
    assert edited(workspace, content, edit) == content.replace(b"needle", b"pin")


def test_several_edits_of_a_very_large_file_are_refused(workspace: Workspace, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(module, "MAX_FOR_SEVERAL", 2)

    assert "one edit per call" in error_of(workspace, b"abc", Edit(old="a", new="b"), Edit(old="c", new="d")).next_step


@settings(max_examples=100, deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(
    text=st.text("ab\u65e5\U0001f600 \n", max_size=80),
    old=st.text("ab\u65e5 \n", min_size=1, max_size=4),
    new=st.text("xy\u00e9\n", max_size=4),
    encoding=st.sampled_from(["utf-8", "utf-8-sig", "utf-16-le"]),
    splice=st.booleans(),
)
def test_an_edit_is_what_replacing_the_text_gives(
    tmp_path: Path, text: str, old: str, new: str, encoding: str, splice: bool
) -> None:
    assume(old != new)
    workspace = Workspace(tmp_path)
    mark = b"\xff\xfe" if encoding == "utf-16-le" else b""
    content = mark + text.encode(encoding)
    if old not in text:
        assert "not found" in error_of(workspace, content, Edit(old=old, new=new)).message
        return
    with pytest.MonkeyPatch.context() as patch:
        if splice:
            patch.setattr(module, "_IN_MEMORY", 0)
        outcome = edited(workspace, content, Edit(old=old, new=new, replace_all=True))
    assert outcome == mark + text.replace(old, new).encode(encoding)


ONE = Edit(old="two", new="2")


def at_once(workspace: Workspace, content: bytes, *edits: Edit) -> PlannedEdit | None:
    (workspace.root / "f").write_bytes(content)
    return plan_at_once(workspace, "f", edits, SeenFiles())


@pytest.mark.parametrize("lines", [1, 20_000, 60_000])
def test_a_little_edit_is_planned_at_once_as_it_is_in_a_thread(workspace: Workspace, lines: int) -> None:
    content = b"0123456\n" * lines + b"one\ntwo\n" + b"0123456\n" * lines
    planned = at_once(workspace, content, ONE)

    assert planned == plan_edit(Stop(), workspace, "f", [ONE], SeenFiles())
    assert planned is not None
    commit(Stop(), workspace, planned.change, Origin())
    assert (workspace.root / "f").read_bytes() == content.replace(b"two", b"2")


@pytest.mark.parametrize(
    ("content", "edits"),
    [
        pytest.param(b"one two", [ONE, Edit(old="one", new="1")], id="several edits"),
        pytest.param(b"one", [ONE], id="no match: what is near has to be found"),
        pytest.param(b"two two", [Edit(old="two", new="2", replace_all=True)], id="several matches"),
        pytest.param(b"two" + b" " * (1 << 20), [ONE], id="a large file"),
        pytest.param(b"two", [Edit(old="two", new="2" * 5000)], id="a long text"),
        pytest.param(b"two", [Edit(old="two", new="2\n" * 60)], id="many lines"),
        pytest.param("two é".encode("utf-16"), [ONE], id="another encoding than UTF-8"),
        pytest.param(b"two" + b" " * 70_000, [Edit(old="two", new="zwölf")], id="a file that has to be decoded"),
    ],
)
def test_what_takes_longer_is_left_to_a_thread(workspace: Workspace, content: bytes, edits: list[Edit]) -> None:
    assert at_once(workspace, content, *edits) is None


def test_a_file_that_is_not_in_memory_is_left_to_a_thread(
    workspace: Workspace, monkeypatch: pytest.MonkeyPatch
) -> None:
    def on_disk(*_: object) -> int:
        raise BlockingIOError

    monkeypatch.setattr(os, "preadv", on_disk)

    assert at_once(workspace, b"one two", ONE) is None


def test_a_file_that_has_to_be_hashed_is_left_to_a_thread(workspace: Workspace) -> None:
    (workspace.root / "f").write_bytes(b"one two")
    known = SeenFiles()
    known.import_state({"f": "the hash that another process has seen"})

    assert plan_at_once(workspace, "f", [ONE], known) is None


def test_a_binary_file_is_refused_at_once(workspace: Workspace) -> None:
    with pytest.raises(ToolError, match="binary"):
        at_once(workspace, b"two\0", ONE)
