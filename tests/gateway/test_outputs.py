"""Whole outputs: a link in the result, for users who may see the session."""

import json
from collections.abc import AsyncIterator
from pathlib import Path

import httpx2
import pytest

from tests.gateway.kit import BEARER, TOKEN, call, gateway, settings_for, web_client
from toolgate import ToolMode, ToolRegistry, Workspace, tool
from toolgate.errors import OutputMissing, StoreError
from toolgate.gateway.outputs import LocalBlobs
from toolgate.testing import ScriptedModel


@tool(modes=[ToolMode.coding])
def count() -> list[str]:
    """Count."""
    return [f"line {number}" for number in range(9000)]


async def test_what_was_cut_can_be_fetched_whole(tmp_path: Path) -> None:
    settings = settings_for(tmp_path)
    registry = ToolRegistry()
    registry.register(count)
    model = ScriptedModel([[call("count")], "Long."])
    async with gateway(settings, model, registry) as running, running.client() as client, web_client() as web:
        session = await client.session("coding")
        result = next(f for f in await client.turn(session) if f["type"] == "tool_result")
        assert result["data"]["full_output"] == f"/sessions/{session}/outputs/{result['seq']}"
        address = f"http://{running.address}{result['data']['full_output']}"
        answer = await web.get(address, headers=BEARER)
        assert answer.status_code == 200
        assert "sandbox" in answer.headers["content-security-policy"]
        assert json.loads(answer.content)["data"]["result"] == [f"line {number}" for number in range(9000)]
        assert (await web.get(address)).status_code == 401
        assert (await web.get(address, headers={**BEARER, "Sec-Fetch-Site": "cross-site"})).status_code == 403
        for other in (f"outputs/{result['seq'] + 1}", "outputs/0", "outputs/99999", f"outputs/{result['seq']}/stderr"):
            assert (
                await web.get(f"http://{running.address}/sessions/{session}/{other}", headers=BEARER)
            ).status_code == 404


async def test_what_a_command_printed_can_be_fetched_as_it_was(tmp_path: Path) -> None:
    settings = settings_for(tmp_path)
    model = ScriptedModel([[call("Bash", '{"command": "seq 1 1000000"}')], "Long."])
    async with gateway(settings, model) as running, running.client() as client, web_client() as web:
        session = await client.session("coding")
        result = next(f for f in await client.turn(session) if f["type"] == "tool_result")
        address = f"http://{running.address}{result['data']['full_output']}"
        answer = await web.get(f"{address}/stdout", headers=BEARER)
        assert answer.headers["content-type"] == "text/plain; charset=utf-8"
        assert answer.text == "".join(f"{number}\n" for number in range(1, 1_000_001))


async def test_a_secret_in_what_a_command_printed_is_not_served(tmp_path: Path) -> None:
    settings = settings_for(tmp_path)
    model = ScriptedModel([[call("Bash", '{"command": "seq 1 100000; cat token.txt"}')], "Long."])
    (tmp_path / "root" / "token.txt").write_text(TOKEN)
    async with gateway(settings, model) as running, running.client() as client, web_client() as web:
        result = next(f for f in await client.turn(await client.session("coding")) if f["type"] == "tool_result")
        kept = tmp_path / "root" / result["data"]["data"]["full_output"]["stdout"]
        answer = await web.get(f"http://{running.address}{result['data']['full_output']}/stdout", headers=BEARER)

    assert kept.read_text().endswith(f"100000\n{TOKEN}")
    assert answer.text.endswith("100000\n[redacted]")


class Failing:
    """A store that gives the beginning of every output, or says that it cannot be used."""

    def __init__(self, *, begins: bool) -> None:
        self._begins = begins

    async def pieces(self, session_id: str, reference: str) -> AsyncIterator[bytes]:
        if not self._begins:
            raise StoreError("The database is unavailable.")
        return self._beginning()

    async def _beginning(self) -> AsyncIterator[bytes]:
        yield b"the beginning"
        raise OutputMissing("The rest is gone.")


async def test_what_cannot_be_served_to_its_end_is_an_error_for_the_client(tmp_path: Path) -> None:
    settings = settings_for(tmp_path)
    registry = ToolRegistry()
    registry.register(count)
    model = ScriptedModel([[call("count")], "Long."])
    async with gateway(settings, model, registry) as running, running.client() as client, web_client() as web:
        result = next(f for f in await client.turn(await client.session("coding")) if f["type"] == "tool_result")
        address = f"http://{running.address}{result['data']['full_output']}"
        running.service.blobs = Failing(begins=True)
        with pytest.raises(httpx2.RemoteProtocolError):
            await web.get(address, headers=BEARER)
        running.service.blobs = Failing(begins=False)
        away = await web.get(address, headers=BEARER)

    assert (away.status_code, away.json()) == (503, {"error": "The database is unavailable."})


async def test_a_file_that_becomes_shorter_while_it_is_read_is_said(tmp_path: Path) -> None:
    directory = tmp_path / "tool-output"
    directory.mkdir()
    (directory / "a.log").write_bytes(b"x" * 600_000)
    workspace = Workspace(tmp_path)

    async def shared(_session: str) -> Workspace:
        return workspace

    pieces = await LocalBlobs(shared, "tool-output").pieces("s", "tool-output/a.log")
    await anext(pieces)
    (directory / "a.log").write_bytes(b"")

    with pytest.raises(OutputMissing):
        await anext(pieces)


async def test_a_result_that_is_whole_has_no_link(tmp_path: Path) -> None:
    model = ScriptedModel([[call("current_time")], "Now."])
    async with gateway(settings_for(tmp_path), model) as running, running.client() as client:
        result = next(f for f in await client.turn(await client.session()) if f["type"] == "tool_result")
        assert result["data"]["full_output"] is None
