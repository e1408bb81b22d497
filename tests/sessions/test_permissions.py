"""The approval mode of a session, and what its person has allowed for the rest of it, in every database."""

import asyncio

import pytest

from toolgate import ApprovalMode
from toolgate.protocol.approval import Approval, ApprovalChoice, ApprovalRequest
from toolgate.protocol.ids import uuid7
from toolgate.sessions import ChoiceNotOffered, Database, Lease, SessionError, SessionManager, SessionNotFound

FOLDER = ApprovalChoice(
    id="folder",
    label="edits in src",
    rule='[[rule]]\ntool = "edit_file"\nargs = { path = "src/**" }\ndecision = "allow"',
)
CALL = ApprovalChoice(id="call", label="this exact call", rule="session: allow exactly")


async def claimed(store: SessionManager) -> Lease:
    lease = await store.try_claim((await store.create(project="shop")).id)
    assert lease is not None
    return lease


async def asked(
    store: SessionManager, lease: Lease, *choices: ApprovalChoice, tool: str = "edit_file", agent: str = ""
) -> str:
    request = ApprovalRequest(
        id=uuid7(),
        tool_name=tool,
        call_id="c1",
        summary="Edit",
        detail="-a",
        fingerprint="f",
        choices=choices,
        agent=agent,
    )
    await store.ask(lease, request, turn_id="t")
    return request.id


async def kinds(store: SessionManager, session_id: str) -> list[str]:
    return [event.kind for event in await store.events(session_id)]


async def test_a_session_asks_until_its_person_switches(store: SessionManager) -> None:
    session = await store.create()
    assert session.approval_mode is ApprovalMode.ask
    await store.switch_approval_mode(session.id, ApprovalMode.accept_edits)
    assert (await store.get(session.id)).approval_mode is ApprovalMode.accept_edits
    assert (await store.permissions(session.id)).approval_mode is ApprovalMode.accept_edits
    events = await store.events(session.id)
    assert [(event.kind, event.payload) for event in events] == [("approval_mode", {"approval_mode": "accept_edits"})]
    await store.switch_approval_mode(session.id, ApprovalMode.accept_edits)
    assert len(await store.events(session.id)) == 1


async def test_a_session_can_begin_in_any_approval_mode(store: SessionManager) -> None:
    assert [(await store.create(approval_mode=mode)).approval_mode for mode in ApprovalMode] == list(ApprovalMode)
    with pytest.raises(ValueError, match="yolo"):
        await store.create(approval_mode="yolo")
    with pytest.raises(ValueError, match="yolo"):
        await store.switch_approval_mode((await store.create()).id, "yolo")  # type: ignore[arg-type]


async def test_a_switch_needs_no_lease_and_the_last_one_wins(store: SessionManager) -> None:
    lease = await claimed(store)
    switches = [ApprovalMode.plan, ApprovalMode.accept_edits, ApprovalMode.ask, ApprovalMode.plan]
    await asyncio.gather(*(store.switch_approval_mode(lease.session_id, mode) for mode in switches))
    events = await store.events(lease.session_id)
    assert (await store.get(lease.session_id)).approval_mode.value == events[-1].payload["approval_mode"]
    assert await store.renew(lease)


async def test_a_sub_agent_has_the_approval_mode_of_its_session(store: SessionManager) -> None:
    top = await store.create(approval_mode=ApprovalMode.plan)
    child = await store.create(parent_id=top.id)
    assert (await store.permissions(child.id)).approval_mode is ApprovalMode.plan
    await store.switch_approval_mode(top.id, ApprovalMode.ask)
    assert (await store.permissions(child.id)).approval_mode is ApprovalMode.ask
    with pytest.raises(SessionError, match="sub-agent"):
        await store.switch_approval_mode(child.id, ApprovalMode.accept_edits)


async def test_an_unknown_session_has_no_permissions(store: SessionManager) -> None:
    for doing in (store.permissions("none"), store.switch_approval_mode("none", ApprovalMode.ask)):
        with pytest.raises(SessionNotFound):
            await doing


async def test_a_value_that_is_no_approval_mode_means_plan(
    db: Database, caplog: pytest.LogCaptureFixture, kind: str
) -> None:
    from toolgate.settings import SessionSettings

    store = SessionManager(db, SessionSettings())
    session = await store.create()
    await db.write(lambda tx: tx.run("UPDATE sessions SET approval_mode = 'yolo' WHERE id = ?1", session.id))
    assert (await store.permissions(session.id)).approval_mode is ApprovalMode.plan
    assert "invalid_approval_mode_value" in caplog.text


async def test_what_was_picked_is_remembered_as_it_was_shown(store: SessionManager) -> None:
    lease = await claimed(store)
    request_id = await asked(store, lease, CALL, FOLDER)
    assert await store.decide(request_id, Approval(allowed=True, remember=True, choice="folder"))
    (permission,) = (await store.permissions(lease.session_id)).permissions
    assert (permission.id, permission.choice, permission.label) == (request_id, "folder", "edits in src")
    assert permission.rule == FOLDER.rule
    assert permission.created_at > 0
    handoff = await store.stored_handoff(lease.session_id, "shop")
    assert (handoff.allowed, handoff.permissions.permissions) == ((), (permission,))


async def test_another_project_gets_only_the_approval_mode(store: SessionManager) -> None:
    lease = await claimed(store)
    await store.decide(await asked(store, lease, FOLDER), Approval(allowed=True, remember=True, choice="folder"))
    await store.switch_approval_mode(lease.session_id, ApprovalMode.plan)
    found = await store.permissions(lease.session_id, "other")
    assert (found.approval_mode, found.permissions) == (ApprovalMode.plan, ())
    handoff = await store.stored_handoff(lease.session_id, "other")
    assert handoff.permissions == found


async def test_sub_agents_have_the_rules_and_not_the_exact_calls(store: SessionManager) -> None:
    lease = await claimed(store)
    await store.decide(await asked(store, lease, CALL), Approval(allowed=True, remember=True))
    await store.decide(await asked(store, lease, FOLDER), Approval(allowed=True, remember=True, choice="folder"))
    await store.decide(await asked(store, lease, CALL, agent="explore"), Approval(allowed=True, remember=True))
    child = await store.create(parent_id=lease.session_id)
    assert [found.choice for found in (await store.permissions(lease.session_id)).permissions] == ["call", "folder"]
    assert [found.choice for found in (await store.permissions(child.id)).permissions] == ["folder"]


async def test_what_is_taken_back_is_gone_and_in_the_log(store: SessionManager) -> None:
    lease = await claimed(store)
    request_id = await asked(store, lease, CALL)
    await store.decide(request_id, Approval(allowed=True, remember=True))
    other = await store.create()
    assert not await store.remove_permission(other.id, request_id)
    assert await store.remove_permission(lease.session_id, request_id)
    assert not await store.remove_permission(lease.session_id, request_id)
    assert (await store.permissions(lease.session_id)).permissions == ()
    assert (await store.stored_handoff(lease.session_id)).allowed == ()
    assert (await kinds(store, lease.session_id))[-1] == "permission_removed"


@pytest.mark.parametrize(
    "answer",
    [
        Approval(allowed=True, remember=True, choice="file"),
        Approval(allowed=True, remember=True, choice="folder", scope="project"),
        Approval(allowed=True, remember=True, choice="call", scope="project"),
        Approval(allowed=True, approval_mode=ApprovalMode.accept_edits),
        Approval(allowed=True, text="another plan"),
    ],
)
async def test_what_was_not_offered_is_refused_and_the_question_stays_open(
    store: SessionManager, answer: Approval
) -> None:
    lease = await claimed(store)
    request_id = await asked(store, lease, CALL, FOLDER)
    with pytest.raises(ChoiceNotOffered):
        await store.decide(request_id, answer)
    assert [row.id for row in await store.pending_approvals(lease.session_id)] == [request_id]
    assert await store.decide(request_id, Approval(allowed=True))


async def test_an_accepted_plan_switches_the_approval_mode_in_the_same_step(store: SessionManager) -> None:
    for picked, expected in ((None, "ask"), (ApprovalMode.accept_edits, "accept_edits")):
        lease = await claimed(store)
        await store.switch_approval_mode(lease.session_id, ApprovalMode.plan)
        request_id = await asked(store, lease, tool="propose_plan")
        with pytest.raises(ChoiceNotOffered):
            await store.decide(request_id, Approval(allowed=True, approval_mode=ApprovalMode.plan))
        assert await store.decide(request_id, Approval(allowed=True, approval_mode=picked, text="the edited plan"))
        assert (await store.get(lease.session_id)).approval_mode.value == expected
        assert (await kinds(store, lease.session_id))[-2:] == ["approval_mode", "approval_resolved"]
        row = await store.approval(request_id)
        assert row is not None
        assert (row.answer, row.approval_mode) == ("the edited plan", ApprovalMode(expected))


async def test_a_refused_plan_leaves_the_session_in_plan_mode(store: SessionManager) -> None:
    lease = await claimed(store)
    await store.switch_approval_mode(lease.session_id, ApprovalMode.plan)
    request_id = await asked(store, lease, tool="propose_plan")
    with pytest.raises(ChoiceNotOffered):
        await store.decide(request_id, Approval(allowed=False, approval_mode=ApprovalMode.ask))
    assert await store.decide(request_id, Approval(allowed=False, message="smaller steps"))
    assert (await store.get(lease.session_id)).approval_mode is ApprovalMode.plan
