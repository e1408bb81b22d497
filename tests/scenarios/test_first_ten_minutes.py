"""The first ten minutes of a new user: clone, serve, set up a model, ask, accept edits, run tests, go back, restart."""

import http.client
import json
import os
import subprocess
from pathlib import Path
from typing import Any

import pytest
from websockets.asyncio.client import connect

from tests.gateway.kit import Client, is_done, serving
from tests.support.scripted_server import ScriptedServer
from tests.support.scripted_server import serving as model_server

REPOSITORY = Path(__file__).parent.parent.parent
EDIT = {"path": "shop/prices.py", "old_string": "total > DISCOUNT_FROM", "new_string": "total >= DISCOUNT_FROM"}
TESTS = {"call": "Bash", "arguments": {"command": "python3 -m unittest 2>&1 | tail -3"}}
TURNS: list[list[Any]] = [
    ["I run the tests. ", TESTS],
    [{"call": "read_file", "arguments": {"path": "shop/prices.py"}}],
    [{"call": "edit_file", "arguments": EDIT}],
    [TESTS],
    ["The limit itself gets the discount now, and all tests pass."],
    ["Nothing else is open."],
]

pytestmark = pytest.mark.timeout(240)


def cloned(directory: Path) -> Path:
    """A clone of this repository's demo project, as `make serve` opens it."""
    clone = directory / "clone"
    for part in ("examples", "scripts"):
        subprocess.run(["cp", "-r", f"{REPOSITORY}/{part}", f"{clone}-{part}"], check=True)
    clone.mkdir()
    (directory / "clone-examples").rename(clone / "examples")
    (directory / "clone-scripts").rename(clone / "scripts")
    environment = {**os.environ, "TOOLGATE_DEMO": str(directory / "shop")}
    done = subprocess.run(
        [clone / "scripts" / "demo_project.sh"], env=environment, capture_output=True, text=True, check=True
    )
    return Path(done.stdout.strip())


def signed_in(address: str, port: int) -> str:
    """The key that the page gets for the printed address."""
    connection = http.client.HTTPConnection("127.0.0.1", port, timeout=30)
    try:
        origin = {"Origin": f"http://127.0.0.1:{port}", "Content-Type": "application/json"}
        connection.request("POST", "/auth", json.dumps({"code": address.partition("#")[2]}), origin)
        return str(json.loads(connection.getresponse().read())["key"])
    finally:
        connection.close()


async def with_model(client: Client, server: ScriptedServer) -> None:
    """Set up a model from the page."""
    choice = {"provider": "openai_compatible", "base_url": server.url, "api_key": "test-key-of-nobody"}
    answer = await client.data("model.configure", model="scripted", **choice)
    assert answer["configured"] is True
    assert "test-key-of-nobody" not in json.dumps(answer)


async def asked(client: Client, session: str, content: str) -> list[dict[str, Any]]:
    """Take a turn."""
    await client.send("chat.send", session_id=session, content=content)
    return await client.until(is_done)


async def test_the_first_ten_minutes(tmp_path: Path) -> None:
    shop = cloned(tmp_path)
    prices = shop / "shop" / "prices.py"
    before = prices.read_text()
    environ = {"XDG_CONFIG_HOME": str(tmp_path / "config"), "NO_PROXY": "127.0.0.1"}
    words = ("--coding", "--root", str(shop))
    with model_server(TURNS) as model:
        with serving(tmp_path, *words, **environ) as (_, port, address):
            key = signed_in(address, port)
            headers = {"Authorization": f"Bearer {key}"}
            async with connect(f"ws://127.0.0.1:{port}/ws", additional_headers=headers, proxy=None) as socket:
                client = Client(socket)
                info = await client.data("project.info")
                assert (info["name"], info["branch"], info["coding_enabled"]) == ("shop", "main", True)
                assert "Run the tests and fix what fails" in info["suggestions"]
                await with_model(client, model)
                created = await client.data("session.create", mode="coding", approval_mode="accept_edits")
                session = created["session_id"]
                await client.data("session.subscribe", session_id=session, details=True)
                frames = await asked(client, session, info["suggestions"][1])
                assert not [frame for frame in frames if frame["type"] == "approval_request"], "edits are accepted"
                outputs = [frame["data"]["data"] for frame in frames if frame["type"] == "tool_result"]
                assert "FAILED (failures=1)" in outputs[0]["stdout"]
                assert "OK" in outputs[-1]["stdout"]
                said = next(frame["seq"] for frame in frames if frame["type"] == "user_message")
                changes = await client.data("changes.list", session_id=session)
                assert [(file["path"], file["added"], file["removed"]) for file in changes["files"]] == [
                    ("shop/prices.py", 1, 1)
                ]
                undone = await client.data("session.rewind", session_id=session, seq=said, files=True)
                assert undone["files"] == {"restored": ["shop/prices.py"], "refused": []}
                assert prices.read_text() == before
        with serving(tmp_path, *words, name="again", **environ) as (_, port, _):
            async with connect(f"ws://127.0.0.1:{port}/ws", additional_headers=headers, proxy=None) as socket:
                client = Client(socket)
                [row] = (await client.data("session.list"))["sessions"]
                assert (row["session_id"], row["status"]) == (session, "idle")
                assert (await client.data("chat.history", session_id=session))["messages"] == []
                frames = await asked(client, session, "What is left?")
                assert "Nothing else is open." in json.dumps(frames), "the model is still set up"
