"""The list of a user's sessions, on every database."""

from tests.sessions.test_rewind import said
from toolgate.protocol.approval import ApprovalRequest
from toolgate.sessions import SessionManager


async def found(store: SessionManager, user: str, search: str = "", archived: bool | None = False) -> list[str]:
    return [row.session.title for row in await store.find(user, search=search, archived=archived)]


async def test_sessions_without_a_message_and_those_of_others_are_not_listed(store: SessionManager) -> None:
    await store.create(user="ann-list", title="empty")
    for user, text in (("ann-list", "mine"), ("bob-list", "his")):
        await said(store, (await store.create(user=user)).id, text)
    assert await found(store, "ann-list") == ["mine"]


async def test_words_are_found_in_titles_and_contents_in_any_case(store: SessionManager) -> None:
    first, second = [(await store.create(user="carl")).id for _ in range(2)]
    await said(store, first, "Prices of PEARS\nand of Äpfel from the north")
    await said(store, second, "Something else")
    assert await found(store, "carl", "pears") == ["Prices of PEARS"]
    assert await found(store, "carl", "äpfel NORTH") == ["Prices of PEARS"]
    assert await found(store, "carl", "100%") == []
    assert await found(store, "carl", "re: else") == ["Something else"], "answers are searched, too"
    [row] = await store.find("carl", search="äpfel")
    assert row.snippet == "re: Prices of PEARS and of Äpfel from the north"


async def test_what_was_gone_back_from_is_not_found(store: SessionManager) -> None:
    session = await store.create(user="dora", title="t")
    await said(store, session.id, "keep this")
    wrong = await said(store, session.id, "secret plan")
    assert await found(store, "dora", "secret") == ["t"]
    await store.rewind(session.id, wrong)
    assert await found(store, "dora", "secret") == []


async def test_archived_sessions_are_a_list_of_their_own(store: SessionManager) -> None:
    kept, gone = [(await store.create(user="eve")).id for _ in range(2)]
    await said(store, kept, "kept")
    await said(store, gone, "gone")
    await store.archive(gone, archived=True)
    assert await found(store, "eve") == ["kept"]
    assert await found(store, "eve", archived=True) == ["gone"]
    assert await found(store, "eve", archived=None) == ["gone", "kept"]
    assert (await store.get(gone)).archived_at is not None
    await store.archive(gone, archived=False)
    assert await found(store, "eve") == ["gone", "kept"]


async def test_the_status_says_who_has_to_act(store: SessionManager) -> None:
    session = await store.create(user="finn")
    await said(store, session.id, "one")

    async def status() -> str:
        return (await store.find("finn"))[0].status

    assert await status() == "idle"
    lease = await store.try_claim(session.id)
    assert lease is not None
    turn = await store.start_turn(lease, "two")
    assert await status() == "running"
    request = ApprovalRequest(
        id=f"a-{session.id}", tool_name="Bash", call_id="c", session_id=session.id, agent="", summary="s", detail="d",
        fingerprint="f",
    )  # fmt: skip
    await store.ask(lease, request, turn_id=turn.id)
    assert await status() == "waiting"
    await store.finish_turn(lease, turn.id, "failed", release=True)
    assert await status() == "failed"
