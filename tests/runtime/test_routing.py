"""Agent commands typed into Bash: rewritten into the calls that they stand for, with one id and every gate."""

import asyncio
import json
from collections.abc import AsyncIterator
from pathlib import Path
from typing import Any

import pytest

import toolgate
from tests.support.toolbox import Toolbox
from toolgate import ToolCall, ToolMode
from toolgate.protocol.approval import Approval, ApprovalRequest
from toolgate.testing import AutoApprover, MemoryRecorder
from toolgate.workspace.undo import undo


class Box(Toolbox):
    """A session with its registry and its record at hand."""

    def __init__(self, root: Path, **context: Any) -> None:
        self.recorder = MemoryRecorder()
        super().__init__(root, **{"recorder": self.recorder, **context})
        self.registry = toolgate.builtin_registry()
        self.toolset = self.registry.toolset(ToolMode.coding, self.context)

    async def bash(self, command: str, **arguments: Any) -> toolgate.ToolResponse:
        return await self("Bash", command=command, **arguments)

    @property
    def recorded(self) -> list[tuple[str, str, str]]:
        return [(record.kind, record.tool_name, record.call_id) for record in self.recorder.records]


@pytest.fixture
async def box(tmp_path: Path) -> AsyncIterator[Box]:
    (tmp_path / "a.txt").write_text("one\ntwo\none\n")
    box = Box(tmp_path)
    yield box
    await box.context.aclose()


async def test_an_edit_is_the_call_of_edit_file(box: Box) -> None:
    result = await box.result("Bash", command="edit a.txt one ONE")

    assert (result.tool_call_id, (box.root / "a.txt").read_text()) == ("c1", "ONE\ntwo\none\n")
    assert result.response.data["routed"]["replacements"] == 1
    assert (result.response.data["exit_code"], result.response.data["stderr"]) == (0, "")
    assert result.response.context["params_input"] == {"command": "edit a.txt one ONE"}


async def test_one_permission_one_record(box: Box) -> None:
    await box.bash("edit a.txt one ONE")

    assert [(request.tool_name, request.call_id) for request in box.approver.requests] == [("edit_file", "c1")]
    assert box.recorded == [(kind, "edit_file", "c1") for kind in ("decision", "started", "finished")]


async def test_one_journal_entry_that_undo_takes_back(box: Box) -> None:
    await box.bash("edit a.txt one ONE --all")
    assert (box.root / "a.txt").read_text() == "ONE\ntwo\nONE\n"
    undone = undo(box.context.require_workspace(), "session")

    assert ([item.path for item in undone], (box.root / "a.txt").read_text()) == (["a.txt"], "one\ntwo\none\n")


async def test_both_modes_are_asked(box: Box) -> None:
    box.registry.set_mode_override("edit_file", [])
    result = await box.result("Bash", command="edit a.txt one ONE")
    data = result.response.data

    assert result.response.error is not None
    assert (result.response.error.code, result.extras["failureCategory"]) == ("MODE_DENIED", "denied")
    assert (data["stdout"], data["exit_code"], data["routed"]["tool_name"]) == ("", 1, "edit_file")
    assert "'edit_file' is not enabled in any mode" in data["stderr"]
    assert json.loads(result.output)["error_code"] == "MODE_DENIED"
    assert (box.approver.requests, (box.root / "a.txt").read_text()) == ([], "one\ntwo\none\n")


async def test_the_mode_of_bash_is_asked_too(box: Box) -> None:
    box.registry.set_mode_override("Bash", [])
    result = await box.result("Bash", command="read a.txt")

    assert result.response.error is not None
    assert (result.response.error.code, result.response.data["tool_name"]) == ("MODE_DENIED", "Bash")
    assert [record[:2] for record in box.recorded] == [("decision", "Bash"), ("finished", "Bash")]


@pytest.mark.parametrize("name", ["Bash", "edit_file"])
async def test_both_are_asked_again_after_a_person_thought(tmp_path: Path, name: str) -> None:
    (tmp_path / "a.txt").write_text("one\n")

    class Tightening:
        async def decide(self, request: ApprovalRequest) -> Approval:
            session.registry.set_mode_override(name, [])
            return Approval(allowed=True)

    session = Box(tmp_path, approver=Tightening())
    response = await session.bash("edit a.txt one ONE")

    assert response.error is not None
    assert (response.error.code, (tmp_path / "a.txt").read_text()) == ("MODE_DENIED", "one\n")
    assert [record[0] for record in session.recorded] == ["decision", "finished"]
    assert session.recorder.records[0].payload["decision"] == "deny"


async def test_a_denial_keeps_the_shape_of_bash(tmp_path: Path) -> None:
    box = Box(tmp_path, approver=AutoApprover(allow=False, message="not today"))
    response = await box.bash("write new.txt hello")

    assert response.error is not None
    assert (response.error.code, list(tmp_path.glob("*.txt"))) == ("APPROVAL_DENIED", [])
    assert (response.data["stdout"], response.data["exit_code"]) == ("", 1)
    assert "not today" in response.data["stderr"]


async def test_a_tool_that_is_filtered_out_is_not_found(box: Box) -> None:
    view = box.registry.filter(["Bash", "read_file"])
    toolset = view.toolset(ToolMode.coding, box.context)
    call = ToolCall(id="7", name="Bash", arguments='{"command": "edit a.txt one ONE"}')
    result = await toolset.handle(call)

    assert result.response.error is not None
    assert (result.response.error.code, result.extras["failureCategory"]) == ("TOOL_NOT_FOUND", "command_not_found")
    assert (result.response.data["exit_code"], (box.root / "a.txt").read_text()) == (1, "one\ntwo\none\n")
    listed = await toolset.handle(ToolCall(id="8", name="Bash", arguments='{"command": "tools"}'))
    assert [line.partition(":")[0] for line in listed.response.data["stdout"].splitlines()] == ["read_file", "Bash"]


async def test_relative_paths_start_at_the_shells_directory(box: Box) -> None:
    (box.root / "sub").mkdir()
    await box.bash("cd sub")
    await box.bash("write b.txt hello")
    response = await box.bash("read ../a.txt --limit 1")

    assert (box.root / "sub/b.txt").read_text() == "hello"
    assert response.data["stdout"] == "     1\tone"
    assert (response.context["cwd"], response.context["path_resolved"]) == ("sub", "a.txt")
    assert (await box("read_file", path="a.txt")).context["cwd"] == "."


async def test_a_path_outside_the_root_is_denied_in_bashs_shape(box: Box) -> None:
    response = await box.bash("read ../secret.txt")

    assert (response.status, response.data["exit_code"]) == ("partial", 1)
    assert "'../secret.txt' is outside the project root" in response.data["stderr"]


async def test_a_heredoc_is_content(box: Box) -> None:
    await box.bash("write b.txt <<'EOF'\n$(rm -rf .) `x` \"quoted\"\n  -h --all\nEOF")

    assert (box.root / "b.txt").read_text() == '$(rm -rf .) `x` "quoted"\n  -h --all\n'


async def test_quoted_options_are_content(box: Box) -> None:
    await box.bash("edit a.txt one '--all'")
    await box.bash("write c.txt '-h'")

    assert (box.root / "a.txt").read_text() == "--all\ntwo\none\n"
    assert (box.root / "c.txt").read_text() == "-h"


@pytest.mark.parametrize("command", ["read", "write", "edit", "todo", "task", "memory", "jobs", "tools"])
@pytest.mark.parametrize("option", ["-h", "--help"])
async def test_help_runs_nothing(box: Box, command: str, option: str) -> None:
    response = await box.bash(f"{command} {option}")

    assert (response.status, response.data["exit_code"]) == ("success", 0)
    assert response.data["stdout"].startswith(f"Usage: {command} ")
    assert box.approver.requests == []


@pytest.mark.parametrize(
    "command",
    ["read", "read a b", "read a --limit x", "write a", "edit a b", "edit a b c --nope", "jobs nope x", "bash"],
)
async def test_words_that_do_not_fit_are_exit_code_2(box: Box, command: str) -> None:
    result = await box.result("Bash", command=command)

    assert (result.response.status, result.response.data["exit_code"]) == ("partial", 2)
    assert result.extras == {"failureCategory": "invalid_usage"}
    assert "Usage: " in result.response.data["stderr"]


async def test_a_failed_command_is_partial_and_names_the_path(box: Box) -> None:
    result = await box.result("Bash", command="read missing.txt")

    assert (result.response.status, result.response.data["exit_code"], result.is_error) == ("partial", 1, False)
    assert "missing.txt" in result.response.data["stderr"]
    assert result.output == result.response.data["stderr"]


async def test_a_stale_file_is_a_conflict_here_too(box: Box) -> None:
    await box.bash("read a.txt")
    (box.root / "a.txt").write_text("changed outside\n")
    response = await box.bash("write a.txt mine")

    assert (response.status, (box.root / "a.txt").read_text()) == ("partial", "changed outside\n")
    assert "changed" in response.data["stderr"]


async def test_in_a_pipe_read_is_the_shells_own_and_says_how_to_read(box: Box) -> None:
    response = await box.bash("read a.txt | head -n 1")

    assert "read a.txt --limit N" in response.data["stderr"]
    assert response.data["sandbox"]["access"] == "write"
    assert "routed" not in response.data


async def test_todo_memory_and_task_are_calls_of_their_tools(box: Box) -> None:
    response = await box.bash("todo 'first thing' '[x] second'")
    assert response.data["routed"]["items"] == [
        {"content": "first thing", "status": "pending"},
        {"content": "second", "status": "completed"},
    ]
    assert (await box.bash("todo")).data["stdout"] == "[pending] first thing\n[completed] second\n"
    for command in ("memory search x", "task explore 'look around'"):
        assert (await box.bash(command)).data["exit_code"] == 1


@pytest.mark.parametrize("arguments", [{"background": True}, {"restart": True}])
async def test_an_agent_command_is_never_left_to_the_shell_unjudged(box: Box, arguments: dict[str, Any]) -> None:
    await box.bash("edit() { touch pwned; }")
    response = await box.bash("edit a.txt one ONE", **arguments)

    assert response.error is not None
    assert (response.error.code, (box.root / "pwned").exists()) == ("INVALID_PARAM", False)
    assert (box.root / "a.txt").read_text() == "one\ntwo\none\n"


async def test_a_function_of_the_same_name_changes_nothing(box: Box) -> None:
    await box.bash("edit() { touch pwned; }; alias read='touch pwned'; shopt -s expand_aliases")
    await box.bash("edit a.txt one ONE")
    await box.bash("read a.txt")

    assert ((box.root / "pwned").exists(), (box.root / "a.txt").read_text()) == (False, "ONE\ntwo\none\n")


async def test_explain_follows_the_rewrite(box: Box) -> None:
    call = ToolCall(id="1", name="Bash", arguments='{"command": "edit a.txt one ONE"}')
    decision = await box.toolset.explain(call)
    assert (decision.decision, decision.gate, decision.reason) == ("ask", "permission", "edit_file needs permission")
    box.registry.set_mode_override("edit_file", [])
    decision = await box.toolset.explain(call)

    assert (decision.decision, decision.gate, (box.root / "a.txt").read_text()) == ("deny", "mode", "one\ntwo\none\n")
    assert box.approver.requests == []


async def test_the_policy_of_the_tool_decides(tmp_path: Path) -> None:
    (tmp_path / ".toolgate").mkdir()
    (tmp_path / ".toolgate/policy.toml").write_text(
        '[[rule]]\ntool = "write_file"\nargs = { path = "locked/**" }\ndecision = "deny"\nreason = "locked"\n'
    )
    (tmp_path / "locked").mkdir()
    box = Box(tmp_path)
    await box.bash("cd locked")
    response = await box.bash("write x.txt hello")
    await box.context.aclose()

    assert response.error is not None
    assert (response.error.code, list((tmp_path / "locked").iterdir())) == ("APPROVAL_DENIED", [])


async def test_cancelling_while_a_person_is_asked_runs_nothing(tmp_path: Path) -> None:
    asked = asyncio.Event()

    class Slow:
        async def decide(self, request: ApprovalRequest) -> Approval:
            asked.set()
            await asyncio.Event().wait()
            raise AssertionError

    box = Box(tmp_path, approver=Slow())
    pending = box.toolset.handle(ToolCall(id="9", name="Bash", arguments='{"command": "write x.txt y"}'))
    await asked.wait()
    pending.cancel()
    result = await pending

    assert result.response.error is not None
    assert (result.tool_call_id, result.response.error.code) == ("9", "CANCELLED")
    assert not (tmp_path / "x.txt").exists()


async def test_a_page_of_read_is_followed_in_the_words_of_read(box: Box) -> None:
    response = await box.bash("read a.txt --limit 1")

    assert "use --offset 1 to read on" in response.text
    assert "use --offset 1 to read on" in response.data["stderr"]
    assert (await box.bash("read a.txt --offset 1 --limit 1")).data["stdout"] == "     2\ttwo"
