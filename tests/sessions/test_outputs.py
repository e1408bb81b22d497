"""Whole outputs that workers made: a gateway with nothing but the database serves them to the session's user."""

import asyncio
import contextlib
import json
import logging
from collections.abc import AsyncIterator
from pathlib import Path
from typing import Any

import httpx2
import pytest
from pydantic import SecretStr

from tests.distributed.cluster import Cluster, Process, until
from tests.distributed.gateways import client, port_of
from tests.gateway import kit
from tests.gateway.kit import web_client
from toolgate import Workspace
from toolgate.compose import Stack, assemble, workspace_runtime
from toolgate.errors import OutputMissing
from toolgate.gateway.outputs import LocalBlobs
from toolgate.protocol.calls import ToolCall
from toolgate.protocol.references import references
from toolgate.sessions import Event, SessionManager
from toolgate.sessions import outputs as module
from toolgate.sessions.blobs import Blobs
from toolgate.sessions.outputs import Outputs
from toolgate.settings import SessionSettings, Settings
from toolgate.testing import AutoApprover, ScriptedModel
from toolgate.workspace.outputs import OUTPUTS

pytestmark = [pytest.mark.postgres, pytest.mark.timeout(240)]

ADA, BOB = "token-of-ada-0123456789", "token-of-bob-0123456789"
KEY = "sk-the-key-of-the-model"
CODING = {"SESSION_CODING_ENABLED": "true"}
PRINT = "seq 1 200000"
PRINTED = "".join(f"{number}\n" for number in range(1, 200_001)).encode()


def elsewhere(machines: Cluster) -> Process:
    """A gateway on what could be another machine: nothing of the workspace is there."""
    empty = machines.workspace("elsewhere")
    return machines.start(
        ["-m", "toolgate", "serve", "--port", "0", "--no-open", "--coding", "--root", str(empty)],
        "gateway",
        TOOLGATE_GATEWAY_TOKENS=f"ada:{ADA},bob:{BOB}",
        TOOLGATE_DISTRIBUTED_ROLE="gateway",
        TOOLGATE_DISTRIBUTED_WORKSPACE="main",
    )


async def fetch(port: int, link: str, token: str = ADA) -> httpx2.Response:
    async with web_client(trust_env=False) as web:
        return await web.get(f"http://127.0.0.1:{port}{link}", headers={"Authorization": f"Bearer {token}"})


async def play(machines: Cluster, port: int, *steps: Any) -> tuple[str, list[dict[str, Any]]]:
    """A session of Ada's with one turn, and its results."""
    async with client(port, ADA) as ada:
        created = await ada.answer(await ada.send("session.create", mode="coding"))
        session = created["data"]["session_id"]
        await ada.send("chat.send", session_id=session, content=json.dumps(list(steps)))
        await until(lambda: ada.ends, what="the end", logs=machines.logs)
        return session, [frame["data"] for frame in ada.durable if frame["type"] == "tool_result"]


def bash(command: str) -> list[list[Any]]:
    return [["Bash", {"command": command}]]


def finished(events: list[Event]) -> list[dict[str, Any]]:
    return [event.payload for event in events if event.kind == "call_finished"]


def on_disk(root: Path, reference: str) -> Path:
    """Where an output of a session lies."""
    (found,) = (root / OUTPUTS).glob(f"*/{Path(reference).name}")
    return found


async def test_a_gateway_elsewhere_serves_what_a_worker_made_and_only_to_the_sessions_user(machines: Cluster) -> None:
    (machines.workspace() / "many.txt").write_text("".join(f"line {n} of many\n" for n in range(4000)))
    (machines.workspace() / "key.txt").write_text(f"KEY={KEY}\n")
    worker = machines.worker(
        TOOLGATE_DISTRIBUTED_OUTPUT_BYTES="2000000",
        TOOLGATE_MODEL_API_KEY=KEY,
        **CODING,
    )
    port = await port_of(machines, elsewhere(machines))
    await machines.ready(worker)
    child = json.dumps([bash(f"{PRINT} >&2"), "Counted."])
    session, results = await play(
        machines,
        port,
        bash(PRINT),
        [["grep", {"pattern": "of many", "path": "many.txt", "limit": 4000}]],
        bash(f"cat key.txt; {PRINT}"),
        bash("seq 1 400000"),
        [["task", {"agent": "general", "prompt": child, "description": "count"}]],
        "All of it.",
    )
    counted, found, secret, large, _ = results
    answers = {
        name: await fetch(port, link)
        for name, link in {
            "stdout": f"{counted['full_output']}/stdout",
            "grep": found["full_output"],
            "secret": f"{secret['full_output']}/stdout",
            "large": f"{large['full_output']}/stdout",
            "no such name": f"{counted['full_output']}/stderr",
        }.items()
    }
    links = [counted["full_output"], found["full_output"]]
    others = [(await fetch(port, link, token)).status_code for link in links for token in (BOB, "nobody")]
    whole = on_disk(machines.workspace(), found["data"]["truncation"]["full_output_path"])
    child = next(e.payload["session_id"] for e in await machines.events(session) if e.kind == "agent_started")
    in_child = next(event for event in await machines.events(child) if event.kind == "call_finished")
    childs = await fetch(port, f"/sessions/{child}/outputs/{in_child.seq}/stderr")
    not_bobs = await fetch(port, f"/sessions/{child}/outputs/{in_child.seq}/stderr", BOB)

    assert answers["stdout"].content == PRINTED
    assert answers["stdout"].headers["content-type"] == "text/plain; charset=utf-8"
    assert answers["grep"].content == whole.read_bytes()
    assert len(json.loads(answers["grep"].content)["data"]["matches"]) == 4000
    assert answers["secret"].content == b"KEY=[redacted]\n" + PRINTED
    assert (answers["large"].status_code, answers["no such name"].status_code) == (404, 404)
    assert "too large to be shown here (2,688,895 bytes)" in answers["large"].json()["error"]
    assert large["data"]["full_output"]["stdout"] in answers["large"].json()["error"]
    assert others == [404, 401] * 2
    assert (childs.content, not_bobs.status_code) == (PRINTED, 404)


async def test_a_worker_that_dies_between_an_output_and_the_log_leaves_nothing_that_cannot_be_had(
    machines: Cluster,
) -> None:
    (machines.workspace() / "many.txt").write_text("".join(f"line {n} of many\n" for n in range(4000)))
    place = f"main={machines.workspace()}"
    workers = [
        machines.start(["-m", "tests.distributed.dying", place], "worker", TEST_DEATHS="2", **CODING) for _ in range(3)
    ]
    alive = list(workers)
    await machines.ready(*workers)
    coding = SessionManager(machines.db, SessionSettings(coding_enabled=True))
    session = (await coding.create("coding", user="ada", project="main")).id
    steps = [bash(PRINT), [["grep", {"pattern": "of many", "path": "many.txt", "limit": 4000}]], "Done."]
    turn = await machines.begin(session, *steps)
    for _ in range(2):
        await machines.bury(await _death(machines, alive))
    ended = await machines.ended(turn.id)
    printing, searching = finished(await machines.events(session))
    kept = await machines.db.read(lambda tx: tx.rows("SELECT reference FROM outputs WHERE session_id = ?1", session))
    blobs = Blobs(machines.db)
    [whole] = references(searching["data"]).values()
    served = b"".join([piece async for piece in await blobs.pieces(session, whole)])

    assert (ended.status, ended.attempt) == ("done", 3)
    assert printing["uncertain"] is True
    assert references(printing.get("data")) == {}
    assert served == on_disk(machines.workspace(), whole).read_bytes()
    assert len(kept) > 1  # of both deaths something is left that nothing refers to
    assert sorted(worker.popen.poll() or 0 for worker in workers) == [-9, -9, 0]


async def _death(machines: Cluster, alive: list[Process]) -> Process:
    """The worker that dies next; it is not among those `alive` any longer."""
    await until(lambda: any(worker.popen.poll() for worker in alive), what="a death", logs=machines.logs)
    dead = next(worker for worker in alive if worker.popen.poll())
    alive.remove(dead)
    return dead


@contextlib.asynccontextmanager
async def bench(machines: Cluster, model: ScriptedModel, **distributed: Any) -> AsyncIterator[Stack]:
    """What a worker plays turns with, in this process."""
    settings = settings_for(machines, **distributed)
    async with assemble(settings, model=model, approver=AutoApprover(), project="main") as stack:
        workspace_runtime(stack)
        yield stack


def settings_for(machines: Cluster, **distributed: Any) -> Settings:
    settings = kit.settings_for(machines.base, database=machines.url)
    return settings.model_copy(
        update={
            "distributed": settings.distributed.model_copy(update=distributed),
            "model": settings.model.model_copy(update={"api_key": SecretStr(KEY)}),
        }
    )


def calling(command: str) -> ScriptedModel:
    return ScriptedModel([[ToolCall(id="1", name="Bash", arguments=json.dumps({"command": command}))], "Done."])


async def turn(stack: Stack) -> tuple[str, dict[str, Any]]:
    """The session of a turn, and how its call ended."""
    session = (await stack.sessions.create("coding", user="ada")).id
    async for _ in stack.loop_of("ada").handle_message(session, "Go on."):
        pass
    return session, finished(await stack.sessions.events(session))[0]


async def test_an_output_is_stored_before_the_log_refers_to_it(
    machines: Cluster, monkeypatch: pytest.MonkeyPatch
) -> None:
    seen: list[tuple[bool, int]] = []
    keep = Outputs.keep

    async def watched(self: Outputs, session_id: str, reference: str) -> None:
        await keep(self, session_id, reference)
        stored = await machines.db.read(lambda tx: tx.rows("SELECT 1 FROM outputs WHERE reference = ?1", reference))
        seen.append((bool(stored), len(finished(await machines.events(session_id)))))

    monkeypatch.setattr(Outputs, "keep", watched)
    async with bench(machines, calling(PRINT)) as stack:
        _, ended = await turn(stack)

    assert seen == [(True, 0)] * len(references(ended["data"]))
    assert references(ended["data"]).keys() == {"whole", "stdout"}


@pytest.mark.parametrize(("trouble", "reason"), [("no table", "has no tables"), ("slow", "TimeoutError")])
async def test_a_store_that_fails_does_not_fail_the_call_and_the_gateway_says_so(
    machines: Cluster, trouble: str, reason: str, monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    locked: asyncio.Task[Any] | None = None
    if trouble == "no table":
        await machines.db.write(lambda tx: tx.run("DROP TABLE blobs"))
    else:
        monkeypatch.setattr(module, "_TIMEOUT", 0.5)
        locked = asyncio.create_task(_execute(machines.url, "LOCK TABLE blobs; SELECT pg_sleep(1000)"))
        await until(lambda: _is_locked(machines), what="the lock")
    with caplog.at_level(logging.WARNING):
        async with bench(machines, calling(PRINT)) as stack:
            session, ended = await turn(stack)
            reference = references(ended["data"])["stdout"]
            with pytest.raises(OutputMissing, match=f"could not be stored.*{reference}"):
                await Blobs(machines.db).pieces(session, reference)
            in_workspace = on_disk(stack.workspace.root, reference).read_bytes()
    if locked is not None:
        locked.cancel()
        with contextlib.suppress(asyncio.CancelledError):
            await locked

    assert (ended["status"], ended["data"]["exit_code"], in_workspace) == ("partial", 0, PRINTED)
    said = [record.getMessage() for record in caplog.records if "output_not_stored" in record.getMessage()]
    assert len(said) == 2
    assert all(reason in line for line in said)


async def _execute(url: str, sql: str) -> None:
    import asyncpg  # type: ignore[import-untyped]

    connection = await asyncpg.connect(url)
    try:
        await connection.execute(f"BEGIN; {sql}")
    finally:
        connection.terminate()


async def _is_locked(machines: Cluster) -> bool:
    sql = "SELECT 1 FROM pg_locks WHERE relation = 'blobs'::regclass AND mode = 'AccessExclusiveLock' AND granted"
    return bool(await machines.db.read(lambda tx: tx.rows(sql)))


async def test_what_is_no_output_is_not_stored_whoever_refers_to_it(machines: Cluster) -> None:
    others = ["secret.txt", "../outside", "tool-output", "tool-output/../secret.txt", "/etc/passwd", "tool-output/\0"]
    async with bench(machines, ScriptedModel([])) as stack:
        (stack.workspace.root / "secret.txt").write_text("secret")
        (stack.workspace.root / "tool-output").mkdir()
        (stack.workspace.root / "tool-output" / "a.log").write_text("an output")

        async def shared(_session: str) -> Workspace:
            return stack.workspace

        outputs = Outputs(Blobs(stack.database), stack.settings, shared)
        local = LocalBlobs(shared, "tool-output")
        for reference in [*others, "tool-output/a.log"]:
            await outputs.keep("s", reference)
        for reference in others:
            with pytest.raises(OutputMissing):
                await local.pieces("s", reference)

        stored = await stack.database.read(lambda tx: tx.rows("SELECT reference FROM outputs"))
        assert stored == [("tool-output/a.log",)]


async def test_a_gateway_that_is_a_worker_too_serves_what_is_stored_and_what_is_only_in_its_workspace(
    machines: Cluster,
) -> None:
    settings = settings_for(machines, role="both", workspace="main", output_bytes=2_000_000)
    model = ScriptedModel(
        [
            [ToolCall(id="1", name="Bash", arguments=json.dumps({"command": f"cat key.txt; {PRINT}"}))],
            [ToolCall(id="2", name="Bash", arguments=json.dumps({"command": f"cat key.txt; {PRINT}; {PRINT}"}))],
            "Done.",
        ]
    )
    (settings.workspace.root / "key.txt").write_text(KEY)
    async with kit.gateway(settings, model) as running, running.client() as ada:
        session = await ada.session("coding")
        frames = await ada.turn(session)
        results = [frame["data"] for frame in frames if frame["type"] == "tool_result"]
        for name in results[0]["data"]["full_output"].values():
            (settings.workspace.root / name).resolve().unlink()
        answers = [await fetch(running.port, f"{result['full_output']}/stdout", kit.TOKEN) for result in results]
        (settings.workspace.root / results[1]["data"]["full_output"]["stdout"]).resolve().unlink()
        gone = await fetch(running.port, f"{results[1]['full_output']}/stdout", kit.TOKEN)

    assert [answer.content for answer in answers] == [b"[redacted]" + PRINTED, b"[redacted]" + PRINTED * 2]
    assert (gone.status_code, "too large" in gone.json()["error"]) == (404, True)
