"""`toolgate undo`: takes back, lists, and refuses where someone else has been."""

import asyncio
import json
from pathlib import Path

import pytest

import toolgate as package
from tests.cli.conftest import Toolgate
from toolgate.testing import AutoApprover


@pytest.fixture
def written(project: Path) -> Path:
    """A project in which one call changed a.txt and another created b.txt."""

    async def write() -> None:
        async with package.open(project, mode="coding", approver=AutoApprover()) as toolset:
            for number, path in enumerate(("a.txt", "b.txt")):
                arguments = json.dumps({"path": path, "content": "new\n"})
                result = await toolset.handle(package.ToolCall(id=f"c{number}", name="write_file", arguments=arguments))
                assert not result.is_error, result.message

    asyncio.run(write())
    return project


def test_there_may_be_nothing_to_take_back(toolgate: Toolgate) -> None:
    assert toolgate("undo") == (0, "There is nothing to undo.\n", "")
    assert toolgate("undo", "--list") == (0, "There is nothing to undo.\n", "")


def test_the_last_call_is_taken_back(toolgate: Toolgate, written: Path) -> None:
    assert toolgate("undo") == (0, "removed  b.txt\n", "")
    assert ((written / "a.txt").read_text(), (written / "b.txt").exists()) == ("new\n", False)


def test_a_session_is_taken_back(toolgate: Toolgate, written: Path) -> None:
    code, out, _ = toolgate("undo", "--session", "--json")

    assert (code, json.loads(out)) == (
        0,
        [{"path": "b.txt", "action": "removed"}, {"path": "a.txt", "action": "restored"}],
    )
    assert ((written / "a.txt").read_text(), (written / "b.txt").exists()) == ("one\ntwo\n", False)


def test_the_list_is_newest_first(toolgate: Toolgate, written: Path) -> None:
    code, out, _ = toolgate("undo", "--list")

    rows = [line.split()[2:] for line in out.splitlines()[1:]]
    assert (code, rows) == (0, [["c1", "write_file", "created", "b.txt"], ["c0", "write_file", "changed", "a.txt"]])


def test_the_list_changes_nothing(toolgate: Toolgate, written: Path) -> None:
    toolgate("undo", "--list", "--json")

    assert (written / "b.txt").read_text() == "new\n"


def test_someone_else_s_change_is_left_alone(toolgate: Toolgate, written: Path) -> None:
    (written / "b.txt").write_text("mine\n")

    code, out, err = toolgate("undo")

    assert (code, out, (written / "b.txt").read_text()) == (1, "", "mine\n")
    assert err.startswith("toolgate undo: ")
    assert "b.txt" in err
