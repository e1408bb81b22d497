"""Pictures over the wire: a link in the result, served to the session's user only."""

from pathlib import Path

import httpx2

from tests.gateway.kit import BEARER, call, gateway, settings_for
from tests.support.pictures import png
from toolgate.testing import ScriptedModel


async def test_a_picture_of_a_result_can_be_fetched(tmp_path: Path) -> None:
    settings = settings_for(tmp_path)
    (tmp_path / "root" / "a.png").write_bytes(png(30, 20))
    model = ScriptedModel([[call("read_file", '{"path": "a.png"}')], "Red."], vision=True)
    async with gateway(settings, model) as running, running.client() as client, httpx2.AsyncClient() as web:
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
