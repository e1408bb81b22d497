"""`edit_file`."""

import threading
from pathlib import Path
from typing import Any

import pytest

import toolgate
from tests.support.toolbox import Toolbox


@pytest.fixture
def tools(tmp_path: Path) -> Toolbox:
    (tmp_path / "a.txt").write_text("one\ntwo\nthree\n")
    return Toolbox(tmp_path)


def content(tools: Toolbox) -> str:
    return (tools.root / "a.txt").read_text()


async def test_one_replacement(tools: Toolbox) -> None:
    response = await tools("edit_file", path="a.txt", old_string="two", new_string="2")

    assert content(tools) == "one\n2\nthree\n"
    assert (response.status, response.text) == ("success", "Edited 'a.txt': 1 replacement, now 12 bytes.")
    assert response.data == {
        "applied": True,
        "replacements": 1,
        "diff": "--- a/a.txt\n+++ b/a.txt\n@@ -1,3 +1,3 @@\n one\n-two\n+2\n three\n",
    }


async def test_the_person_sees_the_diff(tools: Toolbox) -> None:
    response = await tools("edit_file", path="a.txt", old_string="two", new_string="2")
    (request,) = tools.approver.requests

    assert (request.summary, request.detail) == ("Edit 'a.txt' (1 replacement)", response.data["diff"])


async def test_a_little_edit_starts_one_thread(tools: Toolbox, monkeypatch: pytest.MonkeyPatch) -> None:
    started = []
    start = threading.Thread.start

    def counted(thread: threading.Thread) -> None:
        started.append(thread.name)
        start(thread)

    monkeypatch.setattr(threading.Thread, "start", counted)
    await tools("edit_file", path="a.txt", old_string="two", new_string="2")

    assert (content(tools), started) == ("one\n2\nthree\n", ["toolgate-worker"])


async def test_nobody_is_asked_about_what_cannot_work(tools: Toolbox) -> None:
    response = await tools("edit_file", path="a.txt", old_string="four", new_string="4")

    assert (response.status, tools.approver.requests) == ("error", [])


async def test_all_replacements(tools: Toolbox) -> None:
    response = await tools("edit_file", path="a.txt", old_string="t", new_string="T", replace_all=True)

    assert (content(tools), response.data["replacements"]) == ("one\nTwo\nThree\n", 2)


async def test_several_edits(tools: Toolbox) -> None:
    edits = [
        {"old_string": "one", "new_string": "1"},
        {"old_string": "t", "new_string": "T", "replace_all": True},
        {"old_string": "Two\n", "new_string": ""},
    ]
    response = await tools("edit_file", path="a.txt", edits=edits)

    assert (response.status, content(tools), response.data["replacements"]) == ("success", "1\nThree\n", 4)


async def test_several_edits_of_which_one_fails(tools: Toolbox) -> None:
    edits = [{"old_string": "one", "new_string": "1"}, {"old_string": "four", "new_string": "4"}]
    response = await tools("edit_file", path="a.txt", edits=edits)

    assert (response.status, content(tools)) == ("error", "one\ntwo\nthree\n")
    assert "nearest" in response.data


async def test_a_miss_has_the_nearest_place_in_its_data(tools: Toolbox) -> None:
    response = await tools("edit_file", path="a.txt", old_string="one\n two", new_string="three")

    assert response.error is not None
    assert (response.error.code, "not found" in response.error.message) == ("INVALID_PARAM", True)
    assert response.data["nearest"] == {
        "new_text_present": True,
        "text": "one\ntwo",
        "start_line": 1,
        "end_line": 2,
        "first_difference": {"line": 2, "expected": " two", "actual": "two"},
    }


async def test_a_dry_run_asks_nobody_and_writes_nothing(tools: Toolbox) -> None:
    response = await tools("edit_file", path="a.txt", old_string="two", new_string="2", dry_run=True)

    assert (response.status, response.data["applied"], response.data["replacements"]) == ("partial", False, 1)
    assert (content(tools), tools.approver.requests) == ("one\ntwo\nthree\n", [])


@pytest.mark.parametrize(
    ("arguments", "named"),
    [
        ({}, ["old_string", "new_string"]),
        ({"old_string": "x"}, ["new_string"]),
        ({"new_string": "x"}, ["old_string"]),
        ({"old_string": None, "new_string": "x"}, ["old_string"]),
        ({"edits": []}, ["edits"]),
        ({"edits": [{"old_string": "x"}]}, ["new_string"]),
        ({"edits": [{"old_string": "x", "new_string": "y"}], "old_string": "x"}, ["old_string", "edits"]),
        ({"old_string": "", "new_string": "x"}, ["old_string"]),
        ({"old_string": "x", "new_string": "x"}, ["old_string", "new_string"]),
        ({"old_string": 1, "new_string": "x"}, ["old_string"]),
    ],
)
async def test_wrong_arguments_are_named(tools: Toolbox, arguments: dict[str, Any], named: list[str]) -> None:
    response = await tools("edit_file", path="a.txt", **arguments)

    assert response.error is not None
    assert response.error.code == "INVALID_PARAM"
    assert [name for name in named if name not in response.text] == []


async def test_two_edits_in_a_row_need_no_reading_between(tools: Toolbox) -> None:
    await tools("read_file", path="a.txt")
    first = await tools("edit_file", path="a.txt", old_string="one", new_string="1")
    second = await tools("edit_file", path="a.txt", old_string="two", new_string="2")

    assert (first.status, second.status, content(tools)) == ("success", "success", "1\n2\nthree\n")


async def test_without_reading_an_edit_is_judged_by_its_match(tools: Toolbox) -> None:
    first = await tools("edit_file", path="a.txt", old_string="one", new_string="1")
    (tools.root / "a.txt").write_text("one\ntwo\nfour\n")
    second = await tools("edit_file", path="a.txt", old_string="four", new_string="4")

    assert (first.status, second.status, content(tools)) == ("success", "success", "one\ntwo\n4\n")


async def test_after_reading_and_editing_a_change_from_outside_is_a_conflict(tools: Toolbox) -> None:
    await tools("read_file", path="a.txt")
    await tools("edit_file", path="a.txt", old_string="one", new_string="1")
    (tools.root / "a.txt").write_text("one\ntwo\nfour\n")
    response = await tools("edit_file", path="a.txt", old_string="four", new_string="4")

    assert response.error is not None
    assert (response.error.code, content(tools)) == ("CONFLICT", "one\ntwo\nfour\n")


async def test_the_first_match_is_a_way_that_models_are_not_shown(tools: Toolbox) -> None:
    tool = toolgate.builtin_registry().get("edit_file")
    assert tool is not None
    response = await tools("edit_file", path="a.txt", old_string="t", new_string="T", first_only=True)

    assert (response.status, content(tools)) == ("success", "one\nTwo\nthree\n")
    assert set(tool.parameters["properties"]) == {
        "path",
        "old_string",
        "new_string",
        "replace_all",
        "dry_run",
        "edits",
    }


async def test_50_mb_are_edited_in_flat_memory(tools: Toolbox) -> None:
    import tracemalloc

    line = b"x" * 99 + b"\n"
    (tools.root / "big").write_bytes(line * 250_000 + b"needle\n" + line * 250_000)
    tracemalloc.start()
    try:
        response = await tools("edit_file", path="big", old_string="needle", new_string="pin")
        _, peak = tracemalloc.get_traced_memory()
    finally:
        tracemalloc.stop()

    assert (response.status, peak < 8 << 20) == ("success", True)
    assert (tools.root / "big").read_bytes() == line * 250_000 + b"pin\n" + line * 250_000
