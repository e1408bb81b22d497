"""What a person has allowed for a session is known where the session is resumed, and nothing else is."""

import asyncio
from pathlib import Path
from typing import Any

import pytest

from tests.agent.kit import OPEN, Stage, call, settings_of
from tests.kit import PathParams, ProbeTool
from toolgate import ApprovalRequest, Plan, ToolContext, Workspace, builtin_registry
from toolgate.agent import AgentLoop
from toolgate.agent.approvals import DurableApprover
from toolgate.protocol.approval import Approval
from toolgate.sessions import AskedApproval, Database, InMemorySessions, SessionManager
from toolgate.testing import AutoApprover, ScriptedModel

REMOVE = {"command": "rm -f x"}


class Home:
    """A database, a project, and one process after the other that works with them."""

    def __init__(self, base: Path) -> None:
        self.root = base / "root"
        self.root.mkdir()
        self._url = f"sqlite:///{base}/sessions.db"

    async def process(self, *calls: Any, session: str | None = None, **options: Any) -> tuple[str, AutoApprover]:
        """Play one turn in a process of its own: the session, and who was asked."""
        db = Database(self._url)
        await db.migrate()
        sessions = SessionManager(db, OPEN)
        approver = options.pop("approver", None) or AutoApprover(remember=True)
        settings = options.pop("settings", None) or settings_of()
        registry = options.pop("registry", None) or builtin_registry()
        session = session or (await sessions.create("coding", project=options.get("project", ""))).id
        model = ScriptedModel([*([one] for one in calls), "Done."])
        workspace = Workspace(options.pop("root", self.root))
        loop = AgentLoop(
            model,
            registry,
            sessions,
            workspace=workspace,
            approver=approver,
            settings=settings,
            first_wait=0,
            **options,
        )
        try:
            async for _ in loop.handle_message(session, "go"):
                pass
        finally:
            await loop.aclose()
            await db.close()
            workspace.close()
        return session, approver


@pytest.fixture
def home(tmp_path: Path) -> Home:
    return Home(tmp_path)


async def test_after_a_restart_exactly_what_was_allowed_is_not_asked_again(home: Home) -> None:
    session, asked = await home.process(call("Bash", REMOVE))
    assert len(asked.requests) == 1
    _, again = await home.process(call("Bash", REMOVE), session=session)
    assert again.requests == []
    others = [{"command": "rm -f y"}, {"command": "rm -f x; rm -f y"}, {**REMOVE, "access": "read"}]
    _, other = await home.process(*(call("Bash", one) for one in others), session=session)
    assert len(other.requests) == 3


async def test_another_session_is_asked(home: Home) -> None:
    await home.process(call("Bash", REMOVE))
    _, asked = await home.process(call("Bash", REMOVE))
    assert len(asked.requests) == 1


@pytest.mark.parametrize("answer", [AutoApprover(remember=False), AutoApprover(allow=False, remember=True)])
async def test_an_answer_that_was_no_or_for_once_does_not_count(home: Home, answer: AutoApprover) -> None:
    session, _ = await home.process(call("Bash", REMOVE), approver=answer)
    _, asked = await home.process(call("Bash", REMOVE), session=session)
    assert len(asked.requests) == 1


async def test_a_changed_plan_asks_again(home: Home) -> None:
    script = {"command": "bash clean.sh"}
    (home.root / "clean.sh").write_text("rm -f x\n")
    session, asked = await home.process(call("Bash", script))
    assert len(asked.requests) == 1
    assert (await home.process(call("Bash", script), session=session))[1].requests == []
    (home.root / "clean.sh").write_text("rm -rf y\n")
    assert len((await home.process(call("Bash", script), session=session))[1].requests) == 1


async def test_another_directory_of_the_shell_asks_again(home: Home) -> None:
    (home.root / "sub").mkdir()
    session, _ = await home.process(call("Bash", REMOVE))
    _, asked = await home.process(call("Bash", {"command": "cd sub"}), call("Bash", REMOVE), session=session)
    assert len(asked.requests) == 1


async def test_a_deny_rule_that_came_later_wins(home: Home, tmp_path: Path) -> None:
    session, _ = await home.process(call("Bash", REMOVE))
    rules = tmp_path / "policy.toml"
    rules.write_text('[[rule]]\ntool = "Bash"\nwords = ["rm"]\ndecision = "deny"\nreason = "not here"\n')
    settings = settings_of().model_copy(update={"policy_file": rules})
    (home.root / "x").touch()
    _, asked = await home.process(call("Bash", REMOVE), session=session, settings=settings)
    assert asked.requests == []
    assert (home.root / "x").exists()


async def test_full_access_is_asked_about_every_time_whatever_the_answer_said(home: Home) -> None:
    full = {"command": "true", "access": "full"}
    session, asked = await home.process(call("Bash", full))
    assert len(asked.requests) == 1
    assert len((await home.process(call("Bash", full), session=session))[1].requests) == 1


async def test_a_tool_without_a_plan_is_known_by_its_arguments(home: Home) -> None:
    def registry() -> Any:
        made = builtin_registry()
        made.register(ProbeTool(requires_permission=True, Params=PathParams))
        return made

    session, asked = await home.process(call("probe", {"path": "a"}), registry=registry())
    assert len(asked.requests) == 1
    both = (call("probe", {"path": "a"}, id="c1"), call("probe", {"path": "b"}, id="c2"))
    _, again = await home.process(*both, session=session, registry=registry())
    assert ['"b"' in request.detail for request in again.requests] == [True]


async def test_after_a_restart_the_shell_and_what_is_known_of_files_are_as_they_were(home: Home) -> None:
    (home.root / "sub").mkdir()
    (home.root / "a.txt").write_text("one\n")
    session, _ = await home.process(
        call("Bash", {"command": "cd sub; export A=1"}), call("read_file", {"path": "a.txt"})
    )
    (home.root / "a.txt").write_text("two\n")
    edit = call("edit_file", {"path": "a.txt", "old_string": "two", "new_string": "2"})
    _, asked = await home.process(call("Bash", {"command": "pwd > where; echo $A >> where"}), edit, session=session)
    assert asked.requests == []
    assert (home.root / "sub/where").read_text() == f"{home.root}/sub\n1\n"
    assert (home.root / "a.txt").read_text() == "two\n"


async def test_what_was_allowed_in_another_project_does_not_count(home: Home, tmp_path: Path) -> None:
    session, _ = await home.process(call("Bash", REMOVE), project="one")
    assert (await home.process(call("Bash", REMOVE), session=session, project="one"))[1].requests == []
    (tmp_path / "elsewhere").mkdir()
    elsewhere = {"root": tmp_path / "elsewhere", "project": "two"}
    assert len((await home.process(call("Bash", REMOVE), session=session, **elsewhere))[1].requests) == 1


class _OnceEach:
    """Allows everything for the session, and notes who asked."""

    def __init__(self) -> None:
        self.requests: list[ApprovalRequest] = []

    async def decide(self, request: ApprovalRequest) -> Approval:
        self.requests.append(request)
        return Approval(allowed=True, remember=True)


async def test_what_a_sub_agent_was_allowed_is_not_its_parents(tmp_path: Path) -> None:
    approver = _OnceEach()
    task = call("task", {"agent": "general", "prompt": "clean up", "description": "clean"})
    turns = [[task], [call("Bash", REMOVE)], "cleaned", "done"]
    stage = await Stage.set(turns, workspace=Workspace(tmp_path), approver=approver)
    await stage.say()
    assert [request.agent for request in approver.requests] == ["general"]
    assert [row.remember for row in await stage.sessions.approvals(stage.id)] == [True]
    assert (await stage.sessions.stored_handoff(stage.id)).allowed == ()
    await stage.close()


async def test_the_fingerprint_in_the_store_is_the_one_that_is_remembered(tmp_path: Path) -> None:
    from toolgate.runtime.policy_source import policy_of

    approver = AutoApprover(remember=True)
    stage = await Stage.set([[call("Bash", REMOVE)], "."], workspace=Workspace(tmp_path), approver=approver)
    await stage.say()
    (row,) = await stage.sessions.approvals(stage.id)
    policy = policy_of(ToolContext())
    asks = Plan(summary="s")
    assert row.fingerprint == approver.requests[0].fingerprint
    assert policy.fingerprint("t", {"a": 1}, None) != policy.fingerprint("t", {"a": 1}, asks)
    assert (await stage.sessions.stored_handoff(stage.id)).allowed == (row.fingerprint,)
    await stage.close()


class AnswersLate(InMemorySessions):
    """A store that has committed a request before the caller gets it, as a thread or a server does."""

    def __init__(self) -> None:
        super().__init__(OPEN)
        self.stored = asyncio.Event()
        self.answer = asyncio.Event()

    async def ask(self, *args: Any, **options: Any) -> AskedApproval:
        asked = await super().ask(*args, **options)
        self.stored.set()
        await self.answer.wait()
        return asked


@pytest.mark.parametrize(
    ("parked", "found"), [(False, ("denied", "withdrawn: the call was cancelled")), (True, ("pending", ""))]
)
async def test_a_request_that_is_being_stored_when_the_call_is_cancelled_is_withdrawn_unless_the_turn_goes_on_elsewhere(
    parked: bool, found: tuple[str, str]
) -> None:
    sessions = AnswersLate()
    lease = await sessions.try_claim((await sessions.create("coding")).id)
    assert lease is not None
    turn = await sessions.start_turn(lease, "go")
    approver = DurableApprover(sessions, lease, turn.id, timeout=None)
    request = ApprovalRequest(id="q1", call_id="c1", tool_name="Bash", summary="s", detail="", fingerprint="f")
    asking = asyncio.create_task(approver.decide(request))
    await sessions.stored.wait()
    approver.parked = parked
    asking.cancel()
    sessions.answer.set()
    with pytest.raises(asyncio.CancelledError):
        await asking
    (row,) = await sessions.approvals(lease.session_id)
    assert (row.state, row.message) == found
    await sessions.aclose()
