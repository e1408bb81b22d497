"""What a session takes along when another process goes on with it."""

import json
from pathlib import Path

import pytest

from tests.kit import code_of
from toolgate import CallableToolset, ToolCall, ToolContext, ToolMode, ToolResult, Workspace, builtin_registry
from toolgate.agent.handoff import SessionHandoff, pack, unpack
from toolgate.runtime.state import runtime_state
from toolgate.testing import AutoApprover


@pytest.fixture
def root(tmp_path: Path) -> Path:
    (tmp_path / "root/sub").mkdir(parents=True)
    (tmp_path / "root/a.txt").write_text("one\ntwo\n")
    return tmp_path / "root"


def process(root: Path) -> ToolContext:
    """The context of the same session in a process of its own."""
    approver = AutoApprover()
    return ToolContext(workspace=Workspace(root), mode=ToolMode.coding, approver=approver)


async def run(context: ToolContext, name: str, **arguments: object) -> ToolResult:
    toolset = CallableToolset(builtin_registry(), context)
    return await toolset.handle(ToolCall(id="1", name=name, arguments=json.dumps(arguments)))


async def test_nothing_is_nothing(root: Path) -> None:
    context = process(root)
    await run(context, "ls")
    assert pack(context) == ""
    assert SessionHandoff(context).if_changed() is None
    await context.aclose()


async def test_a_file_that_changed_since_it_was_read_is_a_conflict_in_another_process(root: Path) -> None:
    first, second = process(root), process(root)
    await run(first, "read_file", path="a.txt")
    text = pack(first)
    (root / "a.txt").write_text("one\nTWO\n")
    edit = {"path": "a.txt", "old_string": "one", "new_string": "1"}
    await unpack(second, text)
    assert code_of(await run(second, "edit_file", **edit)) == "CONFLICT"
    assert code_of(await run(second, "write_file", path="a.txt", content="mine")) == "CONFLICT"
    (root / "a.txt").write_text("one\ntwo\n")  # another file by now, with the content that was read
    assert code_of(await run(second, "edit_file", **edit)) is None
    assert "known" in json.loads(pack(second))
    for context in (first, second):
        await context.aclose()


async def test_who_has_read_a_file_elsewhere_is_not_asked_as_if_it_had_not(root: Path) -> None:
    from toolgate.runtime.policy import Rule
    from toolgate.runtime.policy_source import policy_of

    first, second = process(root), process(root)
    await run(first, "read_file", path="a.txt")
    rule = Rule(tool="write_file", decision="allow", args={"path": "**"})
    runtime_state(second).policy = policy_of(second).with_rules([rule])
    await unpack(second, pack(first))
    await run(second, "write_file", path="a.txt", content="mine")
    assert isinstance(second.approver, AutoApprover)
    assert [request.reason for request in second.approver.requests] == []
    for context in (first, second):
        await context.aclose()


async def test_a_shell_that_was_restarted_takes_nothing_along(root: Path) -> None:
    context = process(root)
    handoff = SessionHandoff(context)
    await run(context, "Bash", command="cd sub")
    stored = handoff.if_changed()
    assert stored
    handoff.mark_stored(stored)
    assert handoff.if_changed() is None
    await run(context, "Bash", restart=True)
    assert handoff.if_shell_changed() == ""
    await context.aclose()


async def test_what_a_command_leaves_is_new_only_if_it_changed_something(root: Path) -> None:
    context = process(root)
    for command in ("true", "ls"):  # bash sets a few variables of its own when it is first used
        await run(context, "Bash", command=command)
    handoff = SessionHandoff(context)
    changed = []
    for command in ("cd sub", "ls", "true", "export A=1", "pwd"):
        await run(context, "Bash", command=command)
        changed.append(bool(text := handoff.if_shell_changed()))
        handoff.mark_stored(text)
    assert changed == [True, False, False, True, False]
    await run(context, "read_file", path="a.txt")
    assert handoff.if_shell_changed() is None
    assert handoff.if_changed()
    await context.aclose()


async def test_a_job_has_another_id_than_those_before_it_elsewhere(root: Path) -> None:
    first, second = process(root), process(root)
    assert (await run(first, "Bash", command="true", background=True)).response.data["job_id"] == "job-1"
    await unpack(second, pack(first))
    assert "There is no job 'job-1'" in (await run(second, "Bash", command="jobs output job-1")).output
    assert (await run(second, "Bash", command="true", background=True)).response.data["job_id"] == "job-2"
    for context in (first, second):
        await context.aclose()


@pytest.mark.parametrize("text", ["{", "[]", '{"known": 7}', '{"full": {}}', '{"jobs": 2, "write": {"directory": 1}}'])
async def test_a_state_that_cannot_be_read_keeps_nobody_from_going_on(root: Path, text: str) -> None:
    context = process(root)
    await unpack(context, text)
    first, second = [await run(context, "Bash", command="pwd") for _ in range(2)]
    await context.aclose()
    assert (first.response.data["exit_code"], second.response.data["exit_code"]) == (0, 0)
    assert "its state could not be carried over: it could not be read" in first.output
    assert second.response.data["stderr"] == ""


async def test_a_state_without_the_newer_keys_is_read(root: Path) -> None:
    first, second = process(root), process(root)
    await run(first, "Bash", command="cd sub")
    handoff_state = first.shell.export_state()
    assert handoff_state is not None
    await unpack(second, handoff_state)
    assert second.shell.cwd == "sub"
    for context in (first, second):
        await context.aclose()
