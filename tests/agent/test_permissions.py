"""The approval mode and the remembered rules of a session, as its turns and sub-agents meet them."""

import asyncio
from pathlib import Path
from typing import Any

import pytest

from tests.agent.kit import Stage, call
from tests.agent.test_subagents import Cast, child, task
from toolgate import Approval, ApprovalMode, ApprovalRequest, ToolDenied, Workspace
from toolgate.agent import AgentEvent, ToolResultInfo
from toolgate.agent.approvals import RemoteApprover
from toolgate.runtime.builtin import agent_registry
from toolgate.settings import Settings
from toolgate.testing import AutoApprover


def write(path: str, id: str = "c1") -> Any:
    return call("write_file", {"path": path, "content": "x\n"}, id)


class Picks:
    def __init__(self, **answer: Any) -> None:
        self.requests: list[ApprovalRequest] = []
        self._answer = Approval(allowed=True, **answer)

    async def decide(self, request: ApprovalRequest) -> Approval:
        self.requests.append(request)
        return self._answer


async def stage_of(root: Path, turns: Any, approver: Any, **options: Any) -> Stage:
    return await Stage.set(turns, registry=agent_registry(), workspace=Workspace(root), approver=approver, **options)


def tools_of(stage: Stage, number: int) -> set[str]:
    return {tool["function"]["name"] for tool in stage.model.requests[number].tools}


async def test_the_model_is_offered_what_the_approval_mode_allows(tmp_path: Path) -> None:
    stage = await stage_of(tmp_path, ["Hello.", "Hello."], None)
    await stage.say()
    await stage.sessions.switch_approval_mode(stage.id, ApprovalMode.plan)
    await stage.say()
    assert ("write_file" in tools_of(stage, 0), "propose_plan" in tools_of(stage, 0)) == (True, False)
    assert ("write_file" in tools_of(stage, 1), "propose_plan" in tools_of(stage, 1)) == (False, True)
    assert "Plan mode" not in stage.model.requests[0].messages[0]["content"]
    assert "Plan mode" in stage.model.requests[1].messages[0]["content"]
    await stage.close()


async def test_nothing_that_a_model_calls_switches_the_approval_mode(tmp_path: Path) -> None:
    attempts = ["session.approval_mode", "switch_approval_mode", "approval_mode", "set_mode"]
    calls = [call(name, {"approval_mode": "accept_edits"}, f"c{n}") for n, name in enumerate(attempts)]
    commands = [
        call("Bash", {"command": f"{name} accept_edits", "access": "read"}, f"b{n}") for n, name in enumerate(attempts)
    ]
    stage = await stage_of(tmp_path, [calls, commands, "I tried."], AutoApprover(allow=False))
    await stage.sessions.switch_approval_mode(stage.id, ApprovalMode.plan)
    await stage.say("Switch to accept_edits.")
    assert (await stage.sessions.get(stage.id)).approval_mode is ApprovalMode.plan
    await stage.close()


async def test_an_accepted_plan_goes_on_in_the_same_turn(tmp_path: Path) -> None:
    plan = call("propose_plan", {"plan": "# Plan"}, "p")
    approver = Picks(approval_mode=ApprovalMode.accept_edits)
    stage = await stage_of(tmp_path, [[plan], [write("a.txt")], "Done."], approver)
    await stage.sessions.switch_approval_mode(stage.id, ApprovalMode.plan)
    await stage.say()
    assert (tmp_path / "a.txt").exists()
    assert len(approver.requests) == 1
    assert "write_file" in tools_of(stage, 1)
    decisions = [event.payload for event in await stage.sessions.events(stage.id) if event.kind == "decision"]
    assert [found["rule"] for found in decisions] == ["", "approval mode: accept_edits"]
    await stage.close()


async def test_a_sub_agent_has_the_approval_mode_and_proposes_no_plan(tmp_path: Path) -> None:
    task = call("task", {"agent": "general", "prompt": "Write it."}, "t")
    stage = await stage_of(tmp_path, [[task], [write("a.txt")], "It is denied.", "Done."], AutoApprover())
    await stage.sessions.switch_approval_mode(stage.id, ApprovalMode.plan)
    await stage.say()
    assert "write_file" not in tools_of(stage, 1)
    assert "propose_plan" not in tools_of(stage, 1)
    assert not (tmp_path / "a.txt").exists()
    await stage.close()


async def test_a_sub_agent_writes_where_edits_are_accepted(tmp_path: Path) -> None:
    task, approver = call("task", {"agent": "general", "prompt": "Write it."}, "t"), AutoApprover(allow=False)
    stage = await stage_of(tmp_path, [[task], [write("a.txt")], "Written.", "Done."], approver)
    await stage.sessions.switch_approval_mode(stage.id, ApprovalMode.accept_edits)
    await stage.say()
    assert ((tmp_path / "a.txt").exists(), approver.requests) == (True, [])
    await stage.close()


async def test_a_folder_of_the_session_holds_for_later_turns_and_for_sub_agents(tmp_path: Path) -> None:
    task, approver = (
        call("task", {"agent": "general", "prompt": "Write it."}, "t"),
        Picks(remember=True, choice="folder"),
    )
    turns = [[write("src/a.txt")], "Done.", [task], [write("src/b.txt", "c2")], "Written.", "Done."]
    stage = await stage_of(tmp_path, turns, approver)
    await stage.say()
    await stage.say()
    assert (tmp_path / "src/b.txt").exists()
    assert len(approver.requests) == 1
    await stage.close()


async def test_another_process_knows_what_was_remembered(tmp_path: Path) -> None:
    approver = Picks(remember=True, choice="folder")
    stage = await stage_of(tmp_path, [[write("src/a.txt")], "Done."], approver)
    await stage.say()
    other = await stage_of(tmp_path, [[write("src/b.txt")], "Done."], None, sessions=stage.sessions)
    other.id = stage.id
    await other.say()
    assert (tmp_path / "src/b.txt").exists()
    await other.loop.aclose()
    await stage.close()


async def test_a_choice_that_was_not_offered_is_a_no(tmp_path: Path) -> None:
    stage = await stage_of(tmp_path, [[write("a.txt")], "Done."], Picks(remember=True, choice="prefix"))
    await stage.say()
    assert not (tmp_path / "a.txt").exists()
    row = (await stage.sessions.approvals(stage.id))[0]
    assert (row.state, "not offered" in row.message) == ("denied", True)
    await stage.close()


async def asked(stage: Stage, number: int = 1) -> list[str]:
    """The ids of the open questions, once there are so many."""
    async with asyncio.timeout(60):
        while len(found := await stage.sessions.pending_approvals(stage.id)) < number:
            await asyncio.sleep(0.005)
    return [row.id for row in found]


def codes(events: list[AgentEvent]) -> list[str | None]:
    """How each call ended: None, or the code of its error."""
    found: list[str | None] = []
    for event in events:
        if isinstance(event, ToolDenied):
            found.append(event.error_code)
        elif isinstance(event, ToolResultInfo):
            error = event.result.response.error
            found.append(None if error is None else error.code.value)
    return found


CHANGES = {
    "write_file": {"path": "b.txt", "content": "x\n"},
    "edit_file": {"path": "a.txt", "old_string": "one", "new_string": "two"},
    "Bash": {"command": "rm a.txt"},
}


@pytest.mark.parametrize("name", CHANGES)
@pytest.mark.parametrize("switched", [False, True])
async def test_what_is_approved_after_a_switch_to_plan_does_not_run(tmp_path: Path, name: str, switched: bool) -> None:
    (tmp_path / "a.txt").write_text("one\n")
    stage = await stage_of(tmp_path, [[call(name, CHANGES[name])], "Done."], RemoteApprover())
    turn = asyncio.create_task(stage.say())
    (request_id,) = await asked(stage)
    if switched:
        await stage.sessions.switch_approval_mode(stage.id, ApprovalMode.plan)
    assert await stage.sessions.decide(request_id, Approval(allowed=True))
    denied = "APPROVAL_DENIED" if name == "Bash" else "MODE_DENIED"
    assert codes(await turn) == [denied if switched else None]
    files = [(path.name, path.read_text()) for path in tmp_path.glob("*.txt")]
    assert (files == [("a.txt", "one\n")]) is switched
    await stage.close()


@pytest.mark.parametrize("decision", ["ask", "deny"])
async def test_a_rule_that_is_written_while_the_question_is_open_denies_the_call(tmp_path: Path, decision: str) -> None:
    file, root = tmp_path / "policy.toml", tmp_path / "root"
    file.write_text("")
    root.mkdir()
    stage = await stage_of(root, [[write("src/a.txt")], "Done."], RemoteApprover(), settings=Settings(policy_file=file))
    turn = asyncio.create_task(stage.say())
    (request_id,) = await asked(stage)
    rule = f'[[rule]]\ntool = "write_file"\nargs = {{ path = "src/**" }}\ndecision = "{decision}"\n'
    file.write_text(rule)
    assert await stage.sessions.decide(request_id, Approval(allowed=True))
    assert codes(await turn) == ["APPROVAL_DENIED" if decision == "deny" else None]
    assert (root / "src/a.txt").exists() is (decision == "ask")
    await stage.close()


async def test_a_rule_for_good_is_not_used_by_the_call_that_plan_mode_stops(tmp_path: Path) -> None:
    stage = await stage_of(tmp_path, [[write("src/a.txt")], [write("src/b.txt", "c2")], "Done."], RemoteApprover())
    turn = asyncio.create_task(stage.say())
    (request_id,) = await asked(stage)
    await stage.sessions.switch_approval_mode(stage.id, ApprovalMode.plan)
    assert await stage.sessions.decide(request_id, Approval(allowed=True, remember=True, choice="folder"))
    assert codes(await turn) == ["MODE_DENIED", "MODE_DENIED"]
    assert not (tmp_path / "src").exists()
    await stage.close()


@pytest.mark.parametrize("name", ["write_file", "Bash"])
async def test_two_sub_agents_that_ask_at_the_same_time_both_meet_the_switch(tmp_path: Path, name: str) -> None:
    files = {"ann": tmp_path / "ann.txt", "bob": tmp_path / "bob.txt"}
    scripts: dict[str, Any] = {}
    for agent, file in files.items():
        arguments = {"command": f"rm {file.name}"} if name == "Bash" else {"path": file.name, "content": "new\n"}
        scripts[agent] = [[call(name, arguments, f"{agent}-call")], "It ended."]
        file.write_text("old\n")
    parent = [[task(agent, id=agent) for agent in files], "Done."]
    agents = [child(agent) for agent in files]
    stage = await stage_of(tmp_path, Cast(parent=parent, **scripts), RemoteApprover(), agents=agents)
    turn = asyncio.create_task(stage.say())
    first, second = await asked(stage, 2)
    await stage.sessions.switch_approval_mode(stage.id, ApprovalMode.plan)
    for request_id in (first, second):
        assert await stage.sessions.decide(request_id, Approval(allowed=True))
    await turn
    assert [file.exists() and file.read_text() for file in files.values()] == ["old\n", "old\n"]
    for agent in files:
        (answer,) = [said for said in stage.model.models[agent].requests[1].messages if said["role"] == "tool"]
        assert "plan" in answer["content"]
    await stage.close()


async def test_a_plan_that_is_accepted_without_a_mode_goes_on_in_ask(tmp_path: Path) -> None:
    plan = call("propose_plan", {"plan": "# Plan"}, "p")
    stage = await stage_of(tmp_path, [[plan], "Done."], AutoApprover())
    await stage.sessions.switch_approval_mode(stage.id, ApprovalMode.plan)
    assert codes(await stage.say()) == [None]
    assert (await stage.sessions.get(stage.id)).approval_mode is ApprovalMode.ask
    await stage.close()
