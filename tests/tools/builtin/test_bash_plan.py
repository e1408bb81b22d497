"""Planning a command: whatever it is, the event loop goes on meanwhile."""

import asyncio
import json
from collections.abc import AsyncIterator
from pathlib import Path

import pytest

from tests.sandbox.test_reusable import settled
from tests.support.shells import CANARY
from tests.support.toolbox import Toolbox
from toolgate import ToolCall
from toolgate.protocol.approval import Approval, ApprovalRequest
from toolgate.protocol.record import CallRecord
from toolgate.workspace.file_guard import FileGuard
from toolgate.workspace.secret_scan import SecretsFound


@pytest.fixture
async def tools(tmp_path: Path) -> AsyncIterator[Toolbox]:
    (tmp_path / "many.sh").write_text("cd a; ls x/y > f\n" * 3000)
    box = Toolbox(tmp_path)
    yield box
    await box.context.aclose()


async def turns_meanwhile(tools: Toolbox, command: str) -> int:
    """How often the event loop went round while the command was judged."""
    call = ToolCall(id="1", name="Bash", arguments=json.dumps({"command": command}))
    judged = asyncio.ensure_future(tools.toolset.explain(call))
    turns = 0
    while not judged.done():
        turns += 1
        await asyncio.sleep(0)
    assert judged.result().decision in ("ask", "allow")
    return turns


@pytest.mark.parametrize(
    "command",
    [
        "cd a; " * 1500,
        "bash many.sh",
        "ls; " * 5000,
        "".join(f"echo > f{n}; " for n in range(1500)),
        "\u00e9" * 100_000,
    ],
    ids=["directories", "script", "commands", "files", "text"],
)
async def test_no_command_holds_up_the_event_loop_before_permission(tools: Toolbox, command: str) -> None:
    assert await turns_meanwhile(tools, command) > 20


async def test_an_ordinary_command_is_judged_without_waiting_for_a_thread(tools: Toolbox) -> None:
    await tools.context.shell.choose_layer()  # the first command of a session waits for it
    assert await turns_meanwhile(tools, "cd src && pytest -q 2>&1 | tail -20") <= 5


async def test_a_long_command_runs_as_it_was_planned(tools: Toolbox) -> None:
    response = await tools("Bash", command="true; " * 700 + "echo done")
    assert response.data["stdout"] == "done\n"


async def test_thousands_of_aliases_and_functions_are_read_only_when_they_are_used(tools: Toolbox) -> None:
    define = 'for i in $(seq 2000); do alias a$i="ls x"; done; alias last="rm README.md"; f() { rm x; }'
    assert (await tools("Bash", command=define)).status == "success"
    reasons = [
        (await tools.toolset.explain(ToolCall(id="1", name="Bash", arguments=json.dumps({"command": command})))).reason
        for command in ("last", "f")
    ]
    assert all("it removes files" in reason for reason in reasons)


async def test_a_command_that_waits_for_nothing_looks_for_secret_files_once(
    tools: Toolbox, monkeypatch: pytest.MonkeyPatch
) -> None:
    usual, looks = FileGuard.found, list[FileGuard]()

    def counted(self: FileGuard) -> SecretsFound:
        looks.append(self)
        return usual(self)

    shell = tools.context.shell
    for _ in range(2):
        await tools("Bash", command="true")
    await settled(shell)
    monkeypatch.setattr(FileGuard, "found", counted)
    assert (await tools("Bash", command="echo done")).data["stdout"] == "done\n"
    assert len(looks) == 1
    await settled(shell)  # the next shell is started without another look
    assert len(looks) == 1


class Appearing:
    """An approver and a recorder during whose turn a secret file appears. It never waits."""

    def __init__(self, secret: Path, turn: str) -> None:
        self.turn = turn
        self._secret = secret

    async def decide(self, request: ApprovalRequest) -> Approval:
        if self.turn == "decide":
            self._secret.write_text(CANARY)
        return Approval(allowed=True)

    async def record(self, record: CallRecord) -> None:
        if self.turn == record.kind == "started":
            self._secret.write_text(CANARY)


@pytest.mark.parametrize("turn", ["decide", "started"])
async def test_a_secret_file_that_appears_after_the_plan_is_hidden(tmp_path: Path, turn: str) -> None:
    appearing = Appearing(tmp_path / ".env", turn)
    (tmp_path / "old").touch()
    box = Toolbox(tmp_path, approver=appearing, **({"recorder": appearing} if turn == "started" else {}))
    response = await box("Bash", command="rm old; grep -rh . . 2>&1; true")
    await box.context.aclose()
    assert CANARY not in response.to_json()
    assert "Permission denied" in response.data["stdout"]


@pytest.mark.parametrize("turn", ["decide", "started"])
async def test_a_secret_file_that_appears_and_is_named_is_a_conflict(tmp_path: Path, turn: str) -> None:
    appearing = Appearing(tmp_path / ".env", turn)
    (tmp_path / "old").touch()
    box = Toolbox(tmp_path, approver=appearing, **({"recorder": appearing} if turn == "started" else {}))
    response = await box("Bash", command="rm old; cat .env")
    await box.context.aclose()
    assert response.error is not None
    assert (response.error.code, (tmp_path / "old").exists()) == ("CONFLICT", True)
