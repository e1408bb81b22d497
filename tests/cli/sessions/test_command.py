"""`toolgate sessions`: the list, one session as it went, and everything about it."""

import asyncio
import json
from pathlib import Path
from typing import Any

import pytest

from tests.cli.conftest import Toolgate
from tests.cli.terminal import Terminal
from toolgate import ToolCall
from toolgate.protocol.approval import Approval, ApprovalRequest
from toolgate.protocol.record import CallRecord
from toolgate.sessions import Database, SessionManager, Usage
from toolgate.settings import SessionSettings


@pytest.fixture
def database(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> str:
    """The user's database, still empty."""
    monkeypatch.setenv("XDG_DATA_HOME", str(tmp_path / "data"))
    return f"sqlite:///{tmp_path}/data/toolgate/toolgate.db"


async def conversation(sessions: SessionManager, *, title: str = "look around", project: str = "/srv/demo") -> str:
    """A session with one turn: a call that worked, a question that was denied, and an answer."""
    session = await sessions.create("coding", project=project)
    lease = await sessions.try_claim(session.id)
    assert lease is not None
    turn = await sessions.start_turn(lease, title)
    place: dict[str, Any] = {"lease": lease, "turn_id": turn.id}
    call = ToolCall(id="c1", name="Bash", arguments='{"command": "ls"}')
    usage = Usage(input_tokens=100, output_tokens=20)
    await sessions.append_message(session.id, "assistant", "I look.", tool_calls=[call], usage=usage, **place)
    recorder = sessions.recorder(lease, turn.id)
    await recorder.record(CallRecord(kind="started", session_id=session.id, call_id="c1", tool_name="Bash"))
    request = ApprovalRequest(
        id=f"a-{session.id}", tool_name="Bash", call_id="c1", summary="Run: ls", detail="ls", fingerprint="f" * 64
    )
    await sessions.ask(lease, request, turn_id=turn.id)
    await sessions.decide(request.id, Approval(allowed=True))
    ended = {"data": {"exit_code": 0}, "stats": {"time_ms": 12.3}}
    payload = {"status": "success", "code": None, **ended}
    await recorder.record(
        CallRecord(kind="finished", session_id=session.id, call_id="c1", tool_name="Bash", payload=payload)
    )
    output = "\n".join(f"file{number}" for number in range(40)) + "\x1b[2J"
    await sessions.append_message(session.id, "tool", output, tool_call_id="c1", **place)
    await sessions.append_message(session.id, "assistant", "There are ```files```.", **place)
    await sessions.finish_turn(lease, turn.id, "done")
    await sessions.release(lease)
    return session.id


@pytest.fixture
def told(database: str) -> str:
    """The id of a session that is there."""

    async def tell() -> str:
        opened = Database(database)
        await opened.migrate()
        try:
            return await conversation(SessionManager(opened, SessionSettings(coding_enabled=True)))
        finally:
            await opened.close()

    return asyncio.run(tell())


def test_without_sessions_the_list_says_how_to_begin(database: str, toolgate: Toolgate) -> None:
    assert toolgate("sessions", "list") == (0, "There are no sessions yet. toolgate chat starts one.\n", "")
    assert toolgate("sessions", "list", "--json").out == "[]\n"


def test_the_list_has_age_title_mode_project_turns_and_tokens(told: str, toolgate: Toolgate) -> None:
    head, row = toolgate("sessions", "list").out.splitlines()

    assert head.split() == ["ID", "AGE", "MODE", "TURNS", "TOKENS", "PROJECT", "TITLE"]
    assert row.split()[0] == told[:13]
    assert row.split()[-6:] == ["coding", "1", "120", "/srv/demo", "look", "around"]


def test_the_list_as_json(told: str, toolgate: Toolgate) -> None:
    (row,) = json.loads(toolgate("sessions", "list", "--json").out)

    assert row["id"] == told
    assert {key: row[key] for key in ("mode", "title", "project", "turns", "tokens", "state")} == {
        "mode": "coding",
        "title": "look around",
        "project": "/srv/demo",
        "turns": 1,
        "tokens": 120,
        "state": "",
    }


def test_the_list_of_one_project(told: str, toolgate: Toolgate) -> None:
    assert len(json.loads(toolgate("sessions", "list", "--json", "--project", "/srv/demo").out)) == 1
    assert toolgate("sessions", "list", "--json", "--project", ".").out == "[]\n"


def test_a_limit_that_makes_no_sense_is_refused(told: str, toolgate: Toolgate) -> None:
    assert toolgate("sessions", "list", "--limit", "0") == (
        2,
        "",
        "toolgate sessions: --limit must be 1 or more\n",
    )


def test_show_is_the_conversation_with_its_calls(told: str, toolgate: Toolgate) -> None:
    shown = toolgate("sessions", "show", told[:13]).out

    assert f"Session {told}" in shown
    assert "coding · /srv/demo · 100 tokens in, 20 out" in shown
    assert "── turn 1 · " in shown
    assert "\nyou\nlook around\n" in shown
    assert '→ Bash {"command": "ls"}\n' in shown
    assert "? Run: ls: allowed" in shown
    assert "✓ Bash · success · exit 0 · 12 ms\n  │ file0\n" in shown
    assert "lines left out⟩" in shown
    assert "\nagent\nThere are ```files```.\n" in shown
    assert "\\x1b[2J" in shown
    assert "\x1b" not in shown


def test_show_in_full_leaves_nothing_out(told: str, toolgate: Toolgate) -> None:
    shown = toolgate("sessions", "show", told, "--full").out

    assert all(f"  │ file{number}\n" in shown for number in range(39))


def test_export_is_complete(told: str, toolgate: Toolgate) -> None:
    document = json.loads(toolgate("sessions", "export", told).out)

    assert document["session"]["id"] == told
    assert [event["seq"] for event in document["events"]] == list(range(1, len(document["events"]) + 1))
    assert [call["state"] for call in document["calls"]] == ["finished"]
    assert [row["state"] for row in document["approvals"]] == ["allowed"]
    assert [turn["status"] for turn in document["turns"]] == ["done"]


def test_export_as_markdown_keeps_code_in_its_fence(told: str, toolgate: Toolgate) -> None:
    text = toolgate("sessions", "export", told, "--format", "markdown").out

    assert text.startswith(f"# look around\n\nSession `{told}`, mode `coding`, project `/srv/demo`.\n")
    assert "## You\n\nlook around\n" in text
    assert '**Bash**\n\n```json\n{"command": "ls"}\n```\n' in text
    assert "## Agent\n\nThere are ```files```.\n" in text


@pytest.mark.parametrize("verb", ["show", "export"])
def test_a_session_that_is_not_there(told: str, toolgate: Toolgate, verb: str) -> None:
    said = "toolgate sessions: there is no session 'zz'; toolgate sessions list shows them\n"

    assert toolgate("sessions", verb, "zz") == (2, "", said)


def test_a_beginning_that_several_share(database: str, toolgate: Toolgate) -> None:
    async def tell() -> list[str]:
        opened = Database(database)
        await opened.migrate()
        sessions = SessionManager(opened, SessionSettings(coding_enabled=True))
        try:
            return [await conversation(sessions), await conversation(sessions)]
        finally:
            await opened.close()

    first, second = asyncio.run(tell())

    code, out, err = toolgate("sessions", "show", first[:2])

    assert (code, out) == (2, "")
    assert f"{first[:2]!r} is the beginning of 2 sessions" in err
    assert first in err
    assert second in err


def test_a_database_that_cannot_be_opened_is_one_line(
    tmp_path: Path, toolgate: Toolgate, monkeypatch: pytest.MonkeyPatch
) -> None:
    (tmp_path / "x.db").write_text("no database at all, but long enough to be looked at" * 50)
    monkeypatch.setenv("TOOLGATE_DATABASE_URL", f"sqlite:///{tmp_path}/x.db")

    code, out, err = toolgate("sessions", "list")

    assert (code, out, err.count("\n")) == (2, "", 1)


def test_a_session_is_renamed(told: str, toolgate: Toolgate) -> None:
    assert toolgate("sessions", "rename", told[:13], "  Another\nname ") == (0, "", "")
    (row,) = json.loads(toolgate("sessions", "list", "--json").out)
    assert row["title"] == "Another name"
    for title in ("", "  ", "x" * 201):
        code, _, err = toolgate("sessions", "rename", told, title)
        assert (code, err) == (2, "toolgate sessions: a title has 1 to 200 characters\n")


async def _grown_old(url: str, *ids: str) -> None:
    """These were last used a hundred days ago."""
    opened = Database(url)
    sql = "UPDATE sessions SET updated_at = updated_at - 100 * 86400 WHERE id = ?1"
    for session_id in ids:
        await opened.write(lambda tx, one=session_id: tx.run(sql, one))  # type: ignore[misc]
    await opened.close()


async def _another(url: str) -> str:
    opened = Database(url)
    try:
        return await conversation(SessionManager(opened, SessionSettings(coding_enabled=True)), title="new")
    finally:
        await opened.close()


def test_what_nobody_has_used_for_long_is_removed_only_when_told_to(
    told: str, database: str, toolgate: Toolgate
) -> None:
    kept = asyncio.run(_another(database))
    prune = ("sessions", "prune", "--older-than")
    assert toolgate(*prune, "90d").out == "There are no sessions that old.\n"
    asyncio.run(_grown_old(database, told))
    assert toolgate(*prune, "101d").out == "There are no sessions that old.\n"
    assert toolgate(*prune, "90d", "--project", ".").out == "There are no sessions that old.\n"

    for words in ([], ["--dry-run"]):
        shown = toolgate(*prune, "90d", *words)
        assert (shown.code, shown.err) == (0, "")
        row, last = shown.out.splitlines()
        assert row.split() == [told[:13], "3", "mo", "look", "around"]
        assert last == "1 session would be removed permanently. Use --yes to remove."
        assert len(json.loads(toolgate("sessions", "list", "--json").out)) == 2

    assert toolgate(*prune, "90d", "--yes").out.splitlines()[-1] == "1 session removed."
    assert [row["id"] for row in json.loads(toolgate("sessions", "list", "--json").out)] == [kept]
    assert toolgate("sessions", "show", told).code == 2


@pytest.mark.parametrize("age", ["90", "0d", "-1d", "1s", "d", "1.5d", "90 d"])
def test_an_age_that_is_none_is_refused(told: str, toolgate: Toolgate, age: str) -> None:
    code, out, err = toolgate("sessions", "prune", f"--older-than={age}", "--yes")
    assert (code, out) == (2, "")
    assert "such as 90d, 12w or 1y" in err


MARKS = ("\x9b", "\x1b]", "\u202e", "\x1b[2J")
"""What clears the screen, fills the clipboard, and reverses text. Some terminals take U+009B for ESC and a bracket."""


@pytest.mark.parametrize("words", [["export"], ["export", "--format", "json"], ["show", "--full"], ["list", "--json"]])
def test_at_a_terminal_nothing_of_a_session_controls_it(database: str, project: Path, words: list[str]) -> None:
    async def tell() -> str:
        opened = Database(database)
        await opened.migrate()
        try:
            sessions = SessionManager(opened, SessionSettings(coding_enabled=True))
            return await conversation(sessions, title="x \x9b2J \x1b]52;c;eA== \u202e 中 end", project=str(project))
        finally:
            await opened.close()

    named = asyncio.run(tell())
    verb, *options = words
    terminal = Terminal(["sessions", verb, *([] if verb == "list" else [named]), *options], project, {})
    try:
        terminal.until("end")
        assert terminal.ended() == 0
    finally:
        terminal.close()

    assert [mark for mark in MARKS if mark in terminal.raw] == []
    assert "中" in terminal.raw
