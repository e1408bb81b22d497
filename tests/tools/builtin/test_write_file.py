"""`write_file`."""

import asyncio
import json
from pathlib import Path

import pytest

import toolgate
from tests.kit import unchanged
from tests.support.toolbox import Toolbox
from toolgate import ToolCall, Workspace
from toolgate.protocol.approval import Approval, ApprovalRequest
from toolgate.testing import AutoApprover


@pytest.fixture
def tools(tmp_path: Path) -> Toolbox:
    return Toolbox(tmp_path)


async def test_a_new_file_with_its_directories(tools: Toolbox) -> None:
    response = await tools("write_file", path="a/b.txt", content="one\ntwo\n")

    assert (tools.root / "a/b.txt").read_text() == "one\ntwo\n"
    assert (response.status, response.text) == ("success", "Created 'a/b.txt' (2 lines, 8 bytes).")
    assert response.data == {"applied": True, "diff": "--- /dev/null\n+++ b/a/b.txt\n@@ -0,0 +1,2 @@\n+one\n+two\n"}


async def test_the_person_sees_the_whole_diff(tools: Toolbox) -> None:
    (tools.root / "a.txt").write_text("old\n")
    await tools("write_file", path="a.txt", content="new\n" * 5000)
    (request,) = tools.approver.requests

    assert request.summary == "Overwrite 'a.txt' (+5000 -1 lines)"
    assert request.detail.count("+new\n") == 5000
    assert request.detail.count("-old\n") == 1


async def test_the_model_gets_a_bounded_diff_that_says_so(tools: Toolbox) -> None:
    response = await tools("write_file", path="a.txt", content="new\n" * 50_000)

    assert len(response.data["diff"]) < 17_000
    assert response.data["diff"].endswith("more lines\n")


async def test_the_same_content_again_writes_nothing(tools: Toolbox) -> None:
    await tools("write_file", path="a.txt", content="x\n")
    before = unchanged(tools.root / "a.txt")
    response = await tools("write_file", path="a.txt", content="x\n")

    assert (response.status, response.data) == ("success", {"applied": True, "diff": ""})
    assert "nothing had to be written" in response.text
    assert unchanged(tools.root / "a.txt") == before


async def test_an_empty_file_can_be_written(tools: Toolbox) -> None:
    response = await tools("write_file", path="a.txt", content="")

    assert (response.status, (tools.root / "a.txt").read_bytes()) == ("success", b"")


@pytest.mark.parametrize(
    ("before", "after"),
    [
        (b"\xef\xbb\xbfold\n", b"\xef\xbb\xbfn\xc3\xa9w\n"),
        (b"\xff\xfe" + "old\n".encode("utf-16-le"), b"\xff\xfe" + "néw\n".encode("utf-16-le")),
        (b"\xfe\xff" + "old\n".encode("utf-16-be"), b"\xfe\xff" + "néw\n".encode("utf-16-be")),
        (b"old\r\n", "néw\n".encode()),
        (b"\x89PNG\0", "néw\n".encode()),
        ("é".encode("latin-1"), "néw\n".encode("latin-1")),
    ],
)
async def test_an_encoding_is_kept_where_it_can_be(tools: Toolbox, before: bytes, after: bytes) -> None:
    (tools.root / "a.txt").write_bytes(before)
    response = await tools("write_file", path="a.txt", content="néw\n")

    assert (response.status, (tools.root / "a.txt").read_bytes()) == ("success", after)


async def test_replacing_what_no_diff_can_show_is_said_to_the_person(tools: Toolbox) -> None:
    (tools.root / "a.bin").write_bytes(b"\x89PNG\0")
    await tools("write_file", path="a.bin", content="x")

    assert tools.approver.requests[0].detail == "Replaces 5 bytes of binary content, which a diff cannot show."


async def test_a_dry_run_asks_nobody(tools: Toolbox) -> None:
    response = await tools("write_file", path="a.txt", content="x\n", dry_run=True)

    assert (response.status, response.data["applied"], tools.approver.requests) == ("partial", False, [])
    assert response.text.startswith("Dry-run only, no actual write performed.")
    assert list(tools.root.iterdir()) == []


async def test_nothing_is_written_without_permission(tmp_path: Path) -> None:
    response = await Toolbox(tmp_path, approver=None)("write_file", path="a.txt", content="x")

    assert response.error is not None
    assert (response.error.code, list(tmp_path.iterdir())) == ("APPROVAL_DENIED", [])


async def test_a_directory_says_that_it_is_not_a_writable_file(tools: Toolbox) -> None:
    (tools.root / "d").mkdir()
    response = await tools("write_file", path="d", content="x")

    assert response.error is not None
    assert (response.error.code, response.error.message) == (
        "IS_DIRECTORY",
        "'d' is a directory, not a writable file.",
    )


async def test_a_file_in_place_of_a_directory_is_not_found(tools: Toolbox) -> None:
    (tools.root / "f").write_text("x")
    response = await tools("write_file", path="f/g", content="x")

    assert response.error is not None
    assert response.error.code == "NOT_FOUND"


async def test_a_change_while_the_person_thinks_is_a_conflict(tmp_path: Path) -> None:
    class Thinking:
        async def decide(self, request: ApprovalRequest) -> Approval:
            (tmp_path / "a.txt").write_text("theirs\n")
            return Approval(allowed=True)

    (tmp_path / "a.txt").write_text("old\n")
    response = await Toolbox(tmp_path, approver=Thinking())("write_file", path="a.txt", content="mine\n")

    assert response.error is not None
    assert (response.error.code, (tmp_path / "a.txt").read_text()) == ("CONFLICT", "theirs\n")


async def test_a_file_that_has_the_content_already_is_looked_at_again_after_the_approval(tmp_path: Path) -> None:
    (tmp_path / "a.txt").write_text("new\n")

    async def thinking(request: ApprovalRequest) -> Approval:
        (tmp_path / "a.txt").write_text("somebody else\n")
        return Approval(allowed=True)

    async with toolgate.open(tmp_path, "coding", approver=thinking) as toolset:
        result = await toolset.call("write_file", path="a.txt", content="new\n")

    assert result.error_code == "CONFLICT"
    assert (tmp_path / "a.txt").read_text() == "somebody else\n"


async def test_what_was_written_is_known_and_a_later_change_is_a_conflict(tools: Toolbox) -> None:
    await tools("write_file", path="a.txt", content="1\n")
    second = await tools("write_file", path="a.txt", content="2\n")
    (tools.root / "a.txt").write_text("theirs\n")
    third = await tools("write_file", path="a.txt", content="3\n")

    assert second.status == "success"
    assert third.error is not None
    assert (third.error.code, (tools.root / "a.txt").read_text()) == ("CONFLICT", "theirs\n")


async def test_a_file_that_was_deleted_meanwhile_can_be_written_again(tools: Toolbox) -> None:
    await tools("write_file", path="a.txt", content="1\n")
    (tools.root / "a.txt").unlink()

    assert (await tools("write_file", path="a.txt", content="2\n")).status == "success"


async def test_overwriting_what_was_not_read_says_so_in_the_plan(tools: Toolbox) -> None:
    (tools.root / "a.txt").write_text("old\n")
    tool = toolgate.builtin_registry().get("write_file")
    assert tool is not None
    unread = await tool.prepare(tool.Params(path="a.txt", content="x"), tools.context)
    await tools("read_file", path="a.txt")
    read = await tool.prepare(tool.Params(path="a.txt", content="x"), tools.context)

    assert isinstance(unread, toolgate.Plan)
    assert isinstance(read, toolgate.Plan)
    assert (unread.asks, read.asks) == (True, False)


async def test_a_cancelled_call_has_written_all_or_nothing(tools: Toolbox) -> None:
    for _ in range(20):
        task = asyncio.ensure_future(tools("write_file", path="a.txt", content="x" * 500_000))
        await asyncio.sleep(0.001)
        task.cancel()
        await asyncio.gather(task, return_exceptions=True)
        path = tools.root / "a.txt"
        assert not path.exists() or path.stat().st_size == 500_000


async def test_the_journal_knows_the_call(tools: Toolbox) -> None:
    await tools("write_file", path="a.txt", content="x")
    workspace = tools.context.require_workspace()

    assert [undone.path for undone in workspace.journal.undo(session_id="s")] == ["a.txt"]
    assert not (tools.root / "a.txt").exists()


async def test_of_calls_with_the_same_id_only_the_last_is_taken_back(tmp_path: Path) -> None:
    async with toolgate.open(tmp_path, "coding", AutoApprover()) as toolset:
        for text in ("one", "two", "three"):
            arguments = json.dumps({"path": "a.txt", "content": text})
            assert not (await toolset.handle(ToolCall(id="call_0", name="write_file", arguments=arguments))).is_error
    Workspace(tmp_path).journal.undo()

    assert (tmp_path / "a.txt").read_text() == "two"


@pytest.mark.parametrize(
    ("before", "content", "after"),
    [
        (b"a\r\nb\r\n", "x\ny\n", b"x\r\ny\r\n"),
        (b"a\r\nb\r\n", "x\r\ny\n", b"x\r\ny\n"),
        (b"a\r\nb\n", "x\ny\n", b"x\r\ny\n"),
        (b"a\nb\n", "x\ny\n", b"x\ny\n"),
        (b"\xff\xfe" + "a\r\n".encode("utf-16-le"), "x\n", b"\xff\xfe" + "x\r\n".encode("utf-16-le")),
    ],
    ids=["all CRLF", "the content has its own", "mixed", "LF", "UTF-16"],
)
async def test_a_file_that_was_read_keeps_its_line_ends(
    tools: Toolbox, before: bytes, content: str, after: bytes
) -> None:
    (tools.root / "a.txt").write_bytes(before)
    await tools("read_file", path="a.txt")
    response = await tools("write_file", path="a.txt", content=content)

    assert (response.status, (tools.root / "a.txt").read_bytes()) == ("success", after)
