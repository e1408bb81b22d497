"""The approval mode and the remembered rules of a session, as its turns and sub-agents meet them."""

from pathlib import Path
from typing import Any

from tests.agent.kit import Stage, call
from toolgate import Approval, ApprovalMode, ApprovalRequest, Workspace
from toolgate.runtime.builtin import agent_registry
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
