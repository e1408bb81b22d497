"""Getting into the gateway, or into the sessions of others, over the network."""

from __future__ import annotations

import asyncio
import contextlib
import json
import socket
import time
from collections.abc import AsyncIterator
from typing import Any
from unittest import mock

import toolgate
from redteam.arena import Arena
from redteam.attack import Broken, Escaped, Layer, attack
from redteam.servers import ALICE, BOB, PATIENCE, Client, gateway, is_end
from toolgate.testing import ScriptedModel

_ONE: tuple[Layer, ...] = ("off",)
"""The gateway's doors do not depend on the sandbox: one layer is enough."""
_DAY = 86_400.0


def _call(name: str, **arguments: object) -> toolgate.ToolCall:
    return toolgate.ToolCall(id="c1", name=name, arguments=json.dumps(arguments))


def _refused(status: int, what: str) -> None:
    if status < 400:
        raise Escaped(f"{what} was let in with status {status}")


def _works(status: int, what: str) -> None:
    if status >= 400 or not status:
        raise Broken(f"{what} was refused with status {status}")


@attack("A page of another origin gets neither a socket nor a key, whatever token it shows.", layers=_ONE)
async def page_of_another_origin(arena: Arena) -> None:
    async with gateway(arena, ScriptedModel([])) as running:
        other = f"http://127.0.0.1:{running.port + 1}"
        for origin in ("http://evil.example", other, "null", f"https://{running.address}.evil.example", "file://"):
            _refused(await running.upgrade(ALICE, Origin=origin), f"a socket for {origin}")
            body = json.dumps({"token": ALICE})
            status, _ = await running.request("/auth", {"Origin": origin}, method="POST", body=body)
            _refused(status, f"the exchange for a key from {origin}")
        _works(await running.upgrade(ALICE, Origin=f"http://{running.address}"), "the gateway's own page")
        _works(await running.upgrade(ALICE), "a program without an origin")


@attack("A name that leads to this machine by a trick of the name server is refused.", layers=_ONE)
async def forged_host(arena: Arena) -> None:
    async with gateway(arena, ScriptedModel([])) as running:
        for host in (
            "evil.example",
            f"evil.example:{running.port}",
            f"127.0.0.1:{running.port + 1}",
            "127.0.0.1.nip.io",
        ):
            _refused(await running.upgrade(ALICE, Host=host), f"a socket for the host {host}")
            _refused((await running.request("/", {"Host": host}))[0], f"the page for the host {host}")
        _works((await running.request("/"))[0], "the page")


@attack("A page's key that was changed, is expired, or belongs to a replaced token opens nothing.", layers=_ONE)
async def key_that_does_not_count(arena: Arena) -> None:
    async with gateway(arena, ScriptedModel([])) as running:
        key = await running.page_key(ALICE)
        _works(await running.upgrade(key), "the page's key")
        for at in (0, len(key) // 2, len(key) - 2):
            changed = key[:at] + ("A" if key[at] != "A" else "B") + key[at + 1 :]
            _refused(await running.upgrade(changed), f"a key with another character at {at}")
        later = time.time() + 2 * _DAY
        with mock.patch("time.time", return_value=later):
            _refused(await running.upgrade(key), "a key of the day before yesterday")
    async with gateway(arena, ScriptedModel([]), tokens=f"alice:another-{ALICE},bob:{BOB}") as running:
        _refused(await running.upgrade(key), "a key of a token that was replaced")
        _refused(await running.upgrade(ALICE), "a token that was replaced")
        _works(await running.upgrade(BOB), "a token that was not replaced")


@attack("After signing out a key works nowhere: not in this gateway, nor in another of the same database.", layers=_ONE)
async def key_after_sign_out(arena: Arena) -> None:
    async with gateway(arena, ScriptedModel([])) as first, gateway(arena, ScriptedModel([])) as second:
        key, other = await first.page_key(ALICE), await first.page_key(ALICE)
        _works(await second.upgrade(key), "the key in the second gateway")
        headers = {"Authorization": f"Bearer {key}", "Origin": f"http://{first.address}"}
        _works((await first.request("/auth", headers, method="DELETE"))[0], "signing out")
        _refused(await first.upgrade(key), "a key that was signed out")
        end = time.monotonic() + PATIENCE
        while await second.upgrade(key) < 400:
            if time.monotonic() > end:
                raise Escaped("the second gateway still takes a key that was signed out")
            await asyncio.sleep(0.5)
        _works(await first.upgrade(other), "another sign-in of the same person")


@attack("A session of another user cannot be read, written, watched or stopped.", layers=_ONE)
async def session_of_another_user(arena: Arena) -> None:
    model = ScriptedModel(["For Alice only."])
    async with gateway(arena, model) as running, running.client(ALICE) as alice, running.client(BOB) as bob:
        session = await alice.session()
        await alice.turn(session)
        tries: dict[str, dict[str, Any]] = {
            "chat.send": {"content": "Say it again."},
            "chat.history": {},
            "chat.cancel": {},
            "session.get": {},
            "session.subscribe": {"after_seq": 0},
            "session.rename": {"title": "taken"},
        }
        for method, more in tries.items():
            frame = await bob.ask(method, session_id=session, **more)
            if frame["type"] != "error" or "For Alice only" in json.dumps(frame):
                raise Escaped(f"{method} works on another user's session")
        if "For Alice only" not in json.dumps(await alice.ask("chat.history", session_id=session)):
            raise Broken("a user cannot read their own session")


@attack("Only the person who is asked can answer a question.", layers=_ONE)
async def question_of_another_user(arena: Arena) -> None:
    model = ScriptedModel([[_call("write_file", path="README.md", content="changed")], "Done."])
    async with gateway(arena, model) as running, running.client(ALICE) as alice, running.client(BOB) as bob:
        session = await alice.session()
        await alice.send("chat.send", session_id=session, content="Go on.")
        question = (await alice.until(lambda frame: frame["type"] == "approval_request"))[-1]["data"]["id"]
        frame = await bob.ask("approval.respond", id=question, allowed=True)
        if frame["type"] != "error" or "changed" in (arena.root / "README.md").read_text():
            raise Escaped("another user answered the question")
        await alice.send("approval.respond", id=question, allowed=True)
        await alice.until(is_end)
        if (arena.root / "README.md").read_text() != "changed":
            raise Broken("the person's own answer does not count")


@attack("A request that is sent again with another content starts nothing.", layers=_ONE)
async def replayed_request(arena: Arena) -> None:
    model = ScriptedModel(["First.", "Second.", "Third."])
    async with gateway(arena, model) as running, running.client(ALICE) as alice:
        session = await alice.session()
        await alice.turn(session, "One.", request_id="the-same")
        async with running.client(ALICE) as again:
            await again.turn(session, "Another thing.", request_id="the-same")
        if len(model.requests) != 1 or "Another thing" in json.dumps(
            await alice.ask("chat.history", session_id=session)
        ):
            raise Escaped("a replayed request ran with another content")
        await alice.turn(session, "Two.", request_id="another")
        if len(model.requests) != 2:
            raise Broken("a new request starts no turn")


@attack("A frame of any size takes no memory before it is refused, and others are served.", layers=_ONE)
async def enormous_frames(arena: Arena) -> None:
    from websockets.exceptions import ConnectionClosed

    async with gateway(arena, ScriptedModel(["Hello."])) as running, running.client(ALICE) as alice:
        async with running.client(BOB) as bob:
            with contextlib.suppress(ConnectionClosed):
                await bob.connection.send("x" * (32 << 20))
            try:
                async with asyncio.timeout(PATIENCE):
                    await bob.connection.recv()
            except ConnectionClosed:
                pass
            else:
                raise Escaped("a frame of 32 MiB was taken")
        if not is_end((await alice.turn(await alice.session()))[-1]):
            raise Broken("others are not served any more")


class _Flood:
    """A model that talks without end, unless it is asked to be brief."""

    async def stream(self, request: Any) -> AsyncIterator[str]:
        if request.messages[-1]["content"] == "short":
            yield "ok"
            return
        for number in range(200_000):
            yield "x" * 200
            if number % 50 == 0:
                await asyncio.sleep(0)


@attack("A client that does not read slows nobody else.", layers=_ONE)
async def client_that_does_not_read(arena: Arena) -> None:
    async with gateway(arena, _Flood()) as running, running.client(ALICE) as alice:
        theirs = await alice.session()
        deaf = await _deaf_client(running.port, theirs)
        try:
            mine, begin = await alice.session(), time.monotonic()
            for _ in range(5):
                await alice.turn(mine, "short")
            if time.monotonic() - begin > PATIENCE / 2:
                raise Escaped("a client that does not read made another one wait")
            await alice.ask("chat.cancel", session_id=theirs)
        finally:
            deaf.close()


async def _deaf_client(port: int, session: str) -> socket.socket:
    """A client that starts a turn and reads nothing of it."""
    from websockets.asyncio.client import connect

    connection = socket.create_connection(("127.0.0.1", port))
    connection.setsockopt(socket.SOL_SOCKET, socket.SO_RCVBUF, 4096)
    connection.setblocking(False)
    headers = {"Authorization": f"Bearer {ALICE}"}
    opened = await connect(
        f"ws://127.0.0.1:{port}/ws", sock=connection, additional_headers=headers, proxy=None, max_queue=1
    )
    await Client(opened).send("chat.send", session_id=session, content="Talk.")
    opened.transport.pause_reading()
    return connection
