"""Pictures over the wire: a link in the result, served to the session's user only."""

import asyncio
from pathlib import Path
from typing import Any

import httpx2
import pytest
from pydantic import SecretStr

from tests.gateway.kit import BEARER, Gateway, call, gateway, is_done, settings_for, web_client
from tests.support.pictures import png
from toolgate.testing import ScriptedModel


async def test_a_picture_of_a_result_can_be_fetched(tmp_path: Path) -> None:
    settings = settings_for(tmp_path)
    (tmp_path / "root" / "a.png").write_bytes(png(30, 20))
    model = ScriptedModel([[call("read_file", '{"path": "a.png"}')], "Red."], vision=True)
    async with gateway(settings, model) as running, running.client() as client, web_client() as web:
        session = await client.session("coding")
        result = next(f for f in await client.turn(session) if f["type"] == "tool_result")
        (image,) = result["data"]["images"]
        assert (image["media_type"], image["width"], image["height"], image["name"]) == ("image/png", 30, 20, "a.png")
        assert image["url"].startswith(f"/sessions/{session}/pictures/")
        address = f"http://{running.address}{image['url']}"
        answer = await web.get(address, headers=BEARER)
        assert (answer.status_code, answer.headers["content-type"], answer.content) == (200, "image/png", png(30, 20))
        assert answer.headers["x-content-type-options"] == "nosniff"
        assert "sandbox" in answer.headers["content-security-policy"]
        assert (await web.get(address)).status_code == 401
        assert (await web.get(address, headers={**BEARER, "Sec-Fetch-Site": "cross-site"})).status_code == 403
        for other in (address[:-1] + ("0" if address[-1] != "0" else "1"), address.replace(session, "x" * 36)):
            assert (await web.get(other, headers=BEARER)).status_code == 404


async def test_a_result_without_pictures_has_no_such_key(tmp_path: Path) -> None:
    settings = settings_for(tmp_path)
    (tmp_path / "root" / "a.txt").write_text("a")
    model = ScriptedModel([[call("read_file", '{"path": "a.txt"}')], "Read."])
    async with gateway(settings, model) as running, running.client() as client:
        session = await client.session("coding")
        result = next(f for f in await client.turn(session) if f["type"] == "tool_result")
        assert "images" not in result["data"]


async def posted(web: httpx2.AsyncClient, running: Gateway, session: str, data: bytes, name: str = "a.png") -> Any:
    return await web.post(
        f"http://{running.address}/sessions/{session}/pictures", params={"name": name}, content=data, headers=BEARER
    )


def images_of(model: ScriptedModel) -> list[tuple[str, list[str]]]:
    """The text and the names of the pictures of the last message of the person, per request."""
    said = [[one for one in request.messages if one["role"] == "user"][-1] for request in model.requests]
    return [(one["content"], [image.name for image in one.get("images", ())]) for one in said]


async def test_a_person_attaches_a_picture(tmp_path: Path) -> None:
    model = ScriptedModel(["Red.", "Still red.", "Even so."], vision=True)
    async with (
        gateway(settings_for(tmp_path), model) as running,
        running.client() as client,
        web_client() as web,
    ):
        session = await client.session()
        answer = await posted(web, running, session, png(30, 20))
        assert answer.status_code == 201
        stored = answer.json()
        assert (stored["media_type"], stored["width"], stored["height"], stored["size"]) == (
            "image/png",
            30,
            20,
            len(png(30, 20)),
        )
        attached = {"sha256": stored["sha256"], "name": "shot.png"}
        await client.data("session.subscribe", session_id=session, details=True)
        await client.send("chat.send", session_id=session, content="What is this?", images=[attached])
        frames = await client.until(lambda frame: frame["type"] == "turn_finished")
        said = next(frame for frame in frames if frame["type"] == "user_message")["data"]
        shown = {**attached, "url": stored["url"], "media_type": "image/png", "width": 30, "height": 20}
        assert said == {"content": "What is this?", "images": [shown]}
        assert (await web.get(f"http://{running.address}{stored['url']}", headers=BEARER)).content == png(30, 20)
        history = (await client.data("chat.history", session_id=session))["messages"]
        assert history[0] == {"role": "user", "content": "What is this?", "images": [shown]}

        await client.send("chat.retry", session_id=session)
        await client.until(lambda frame: frame["type"] == "turn_finished")
        await client.send("chat.resend", session_id=session, content="Which colour?")
        await client.until(lambda frame: frame["type"] == "turn_finished")
        assert images_of(model) == [
            ("What is this?", ["shot.png"]),
            ("What is this?", ["shot.png"]),
            ("Which colour?", ["shot.png"]),
        ]
        exported = await client.data("session.export", session_id=session, format="markdown")
        assert "*Picture: shot.png (30 × 20)*" in exported["content"]


async def test_a_picture_can_be_taken_off_an_edited_message_and_put_into_a_later_one(tmp_path: Path) -> None:
    model = ScriptedModel(["Red.", "No picture.", "Red again."], vision=True)
    async with (
        gateway(settings_for(tmp_path), model) as running,
        running.client() as client,
        web_client() as web,
    ):
        session = await client.session()
        attached = {"sha256": (await posted(web, running, session, png())).json()["sha256"], "name": "a.png"}
        await client.send("chat.send", session_id=session, content="", images=[attached])
        await client.until(is_done)
        await client.send("chat.resend", session_id=session, content="Without", images=[])
        await client.until(is_done)
        forked = (await client.data("session.fork", session_id=session))["session_id"]
        await client.send("chat.send", session_id=forked, content="Again", images=[attached])
        await client.until(is_done)
        assert images_of(model) == [("", ["a.png"]), ("Without", []), ("Again", ["a.png"])]


async def test_what_is_no_picture_is_refused_with_the_reason(tmp_path: Path) -> None:
    cases = {
        b"just text": "is not a picture that models take",
        png(200, 200)[:150]: "is broken",
        png(2, 2, claimed=(60_000, 60_000)): "pixels",
        b"": "is not a picture that models take",
    }
    async with gateway(settings_for(tmp_path)) as running, running.client() as client, web_client() as web:
        session = await client.session()
        for data, reason in cases.items():
            answer = await posted(web, running, session, data, "odd.png")
            assert answer.status_code == 422
            assert answer.json()["error"].startswith("'odd.png' ")
            assert reason in answer.json()["error"]
        large = await posted(web, running, session, png() + b"\0" * (20 << 20))
        assert (large.status_code, large.json()) == (
            413,
            {"error": "The picture is too large: at most 20 MiB are taken."},
        )
        assert (await posted(web, running, "no-such-session", png())).status_code == 404
        refused = await client.ask(
            "chat.send", session_id=session, content="Look", images=[{"sha256": "0" * 64, "name": "gone.png"}]
        )
        assert refused["data"] == {
            "code": "INVALID_PARAMS",
            "message": "The session has no picture 'gone.png': send it again. Nothing was stored.",
        }
        assert (await client.data("chat.history", session_id=session))["messages"] == []


async def test_nobody_puts_pictures_into_the_session_of_another(tmp_path: Path) -> None:
    tokens = SecretStr("alice:alices-token-0123456789,bob:bobs-token-0123456789")
    async with (
        gateway(settings_for(tmp_path, tokens=tokens)) as running,
        running.client("alices-token-0123456789") as alice,
        web_client() as web,
    ):
        session = await alice.session()
        address = f"http://{running.address}/sessions/{session}/pictures"
        bob = {"Authorization": "Bearer bobs-token-0123456789"}
        assert (await web.post(address, content=png(), headers=bob)).status_code == 404
        assert (await web.post(address, content=png())).status_code == 401
        own = {"Authorization": "Bearer alices-token-0123456789"}
        cross = await web.post(address, content=png(), headers={**own, "Sec-Fetch-Site": "cross-site"})
        assert cross.status_code == 403
        assert (await web.post(address, content=png(), headers=own)).status_code == 201


async def begun(running: Gateway, session: str, token: str) -> tuple[asyncio.StreamReader, asyncio.StreamWriter]:
    """A picture that is not sent to its end."""
    host, _, port = running.address.rpartition(":")
    reader, writer = await asyncio.open_connection(host, int(port))
    head = f"POST /sessions/{session}/pictures HTTP/1.1\r\nHost: {running.address}\r\nAuthorization: Bearer {token}\r\n"
    writer.write(f"{head}Content-Length: 1000\r\n\r\n".encode() + png()[:20])
    await writer.drain()
    return reader, writer


async def test_a_user_who_stalls_pictures_holds_up_nobody_else_and_few_are_in_memory(
    tmp_path: Path, caplog: pytest.LogCaptureFixture
) -> None:
    alice, bob = "alices-token-0123456789", "bobs-token-0123456789"
    tokens = SecretStr(f"alice:{alice},bob:{bob}")
    async with (
        gateway(settings_for(tmp_path, tokens=tokens)) as running,
        running.client(alice) as first,
        running.client(bob) as second,
        web_client() as web,
    ):
        hers, his = await first.session(), await second.session()
        stalled = [await begun(running, hers, alice) for _ in range(4)]
        while not running.service.uploads["alice"].locked():
            await asyncio.sleep(0.005)
        waiting = asyncio.create_task(
            web.post(
                f"http://{running.address}/sessions/{hers}/pictures",
                content=png(),
                headers={"Authorization": f"Bearer {alice}"},
            )
        )
        for _ in range(2):
            answer = await web.post(
                f"http://{running.address}/sessions/{his}/pictures",
                content=png(),
                headers={"Authorization": f"Bearer {bob}"},
            )
            assert answer.status_code == 201
        assert not waiting.done()
        for _, writer in stalled:
            writer.close()
        assert (await waiting).status_code == 201
    assert "Exception in ASGI" not in caplog.text


async def test_a_picture_that_does_not_arrive_is_given_up(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("toolgate.gateway.pictures.BODY_SECONDS", 0.05)
    async with gateway(settings_for(tmp_path)) as running, running.client() as client:
        reader, writer = await begun(running, await client.session(), BEARER["Authorization"].split()[1])
        assert b" 408 " in await reader.readline()
        writer.close()
