"""Whole outputs belong to their user, and a tool cannot name a file that is not its own output.

Every gateway runs as root and as an unprivileged user.
"""

import asyncio
import json
import os
from collections.abc import Callable, Coroutine, Iterator
from pathlib import Path
from typing import Any

import httpx2
import pytest
from pydantic import SecretStr

from tests.gateway.kit import BEARER, Client, call, gateway, settings_for
from tests.support.privileges import UIDS, run_as
from toolgate import ToolContext, ToolMode, ToolRegistry, ToolResponse, Workspace, builtin_registry, tool
from toolgate.protocol.calls import ToolCall
from toolgate.testing import ScriptedModel
from toolgate.workspace.owned import OUTPUTS, OwnedWorkspace

ALICE, BOB = "token-of-alice-0123456789", "token-of-bob-0123456789"
SECRET = "what-only-alice-may-read"


Story = Callable[[Callable[[], Coroutine[Any, Any, None]]], None]


@pytest.fixture(params=UIDS)
def uid(request: pytest.FixtureRequest) -> int:
    found: int = request.param
    return found


@pytest.fixture
def place(public_path: Path, uid: int) -> Path:
    """A directory that belongs to the user."""
    own = public_path / "own"
    own.mkdir()
    if os.geteuid() == 0:
        os.chown(own, uid, uid)
    return own


@pytest.fixture
def played(uid: int) -> Story:
    """Runs a coroutine as the user."""
    return lambda story: run_as(uid, lambda: asyncio.run(story()))


def said(name: str, **arguments: object) -> ToolCall:
    return call(name, json.dumps(arguments))


async def _result(client: Client, session: str) -> dict[str, Any]:
    frames = await client.turn(session)
    data: dict[str, Any] = next(frame for frame in frames if frame["type"] == "tool_result")["data"]
    return data


def _stored(root: Path) -> list[Path]:
    return sorted((root / ".toolgate" / OUTPUTS).glob("*/tool_*"))


def test_outputs_of_one_user_cannot_be_read_by_another(place: Path, played: Story) -> None:
    played(lambda: _bob_tries_to_read_what_belongs_to_alice(place))


async def _bob_tries_to_read_what_belongs_to_alice(place: Path) -> None:
    root = place / "root"
    settings = settings_for(place, tokens=SecretStr(f"alice:{ALICE},bob:{BOB}"))
    print_much = f"for i in $(seq 1 60000); do echo {SECRET} $i; done"
    model = ScriptedModel([[said("Bash", command=print_much)], "Long."])
    async with gateway(settings, model) as running, running.client(ALICE) as alice:
        result = await _result(alice, await alice.session("coding"))
    link = result["full_output"]
    paths = [result["data"]["truncation"]["full_output_path"], *result["data"]["full_output"].values()]
    assert all(path.startswith("tool-output/tool_") for path in paths)
    tries = list(_attempts(root, paths))
    model = ScriptedModel([turn for attempt in tries for turn in ([attempt], "No.")])
    async with gateway(settings, model) as running, running.client(BOB) as bob, httpx2.AsyncClient() as web:
        his = await bob.session("coding")
        for attempt in tries:
            result = await _result(bob, his)
            assert SECRET not in json.dumps(result), attempt
            if attempt.name in ("ls", "glob"):
                assert "tool_2" not in json.dumps(result["data"]), attempt
        address = f"http://{running.address}{link}"
        assert (await web.get(address, headers={"Authorization": f"Bearer {BOB}"})).status_code == 404
        assert (await web.get(address, headers={"Authorization": f"Bearer {ALICE}"})).status_code == 200


def _attempts(root: Path, paths: list[str]) -> Iterator[ToolCall]:
    """What another user may try: the names that results show, those on disk, and links to both."""
    files = [str(path.relative_to(root)) for path in _stored(root)]
    assert files
    (root / "link").symlink_to(root / ".toolgate" / OUTPUTS)
    (root / "runtime").symlink_to(".toolgate")
    (root / "file-link").symlink_to(files[0])
    below = [f"link/{Path(path).parent.name}/{Path(path).name}" for path in files]
    for path in (*paths, *files, "file-link", *below):
        yield said("read_file", path=path)
    places = (".", "tool-output", ".toolgate", f".toolgate/{OUTPUTS}", "link", "runtime", "file-link", *files)
    for place in places:
        yield said("grep", pattern="only-alice", path=place, include_ignored=True)
        yield said("ls", path=place)
        yield said("glob", pattern="**/tool_*", path=place, include_ignored=True)
    for access in ("read", "write"):
        yield said("Bash", command=f"cat {' '.join(paths + files)} file-link link/*/*; true", access=access)


def test_every_user_pages_their_own_outputs_as_ever(place: Path, played: Story) -> None:
    played(lambda: _both_read_their_own(place))


async def _both_read_their_own(place: Path) -> None:
    settings = settings_for(place, tokens=SecretStr(f"alice:{ALICE},bob:{BOB}"))
    print_much = f"for i in $(seq 1 9000); do echo {SECRET} $i; done"
    for token in (ALICE, BOB):
        model = ScriptedModel([[said("Bash", command=print_much)], "Long."])
        async with gateway(settings, model) as running, running.client(token) as client:
            session = await client.session("coding")
            path = (await _result(client, session))["data"]["truncation"]["full_output_path"]
        reads = [said("read_file", path=path), said("grep", pattern="alice-may-read 77.", path=path)]
        reads += [said("grep", pattern="alice-may-read 78", path="tool-output"), said("ls", path="tool-output")]
        model = ScriptedModel([turn for read in reads for turn in ([read], "Read.")])
        async with gateway(settings, model) as running, running.client(token) as client:
            session = await client.session("coding")  # another session of the same user
            for read in reads:
                result = await _result(client, session)
                assert result["status"] in ("success", "partial"), (read, result)
                assert SECRET in json.dumps(result) or read.name == "ls", read
                if read.name == "ls":
                    assert path in json.dumps(result)


@tool(modes=[ToolMode.coding])
def liar(path: str) -> ToolResponse:
    """Names a file that is not its output."""
    data = {"truncation": {"full_output_path": path, "kept_lines": 1}, "full_output": {"stdout": path, "stderr": path}}
    return ToolResponse.success(data, "Here it is.")


@pytest.mark.parametrize("path", ["tool-output/tool_20260101_000000_Bash.json", "notes.txt", ".toolgate/notes.txt"])
def test_a_tool_cannot_name_a_file_that_the_runtime_did_not_write(place: Path, played: Story, path: str) -> None:
    played(lambda: _a_tool_lies(place, path))


async def _a_tool_lies(place: Path, path: str) -> None:
    settings = settings_for(place)
    file = place / "root" / path
    file.parent.mkdir(exist_ok=True)
    file.write_text(SECRET)
    registry = ToolRegistry()
    registry.register(liar)
    model = ScriptedModel([[said("liar", path=path)], "Done."])
    async with gateway(settings, model, registry) as running, running.client() as client, httpx2.AsyncClient() as web:
        session = await client.session("coding")
        frames = await client.turn(session)
        result = next(frame for frame in frames if frame["type"] == "tool_result")
        assert result["data"]["full_output"] is None
        for name in ("", "/whole", "/stdout", "/stderr"):
            address = f"http://{running.address}/sessions/{session}/outputs/{result['seq']}{name}"
            assert (await web.get(address, headers=BEARER)).status_code == 404


def test_outputs_of_one_person_lie_where_the_settings_say(place: Path, played: Story) -> None:
    played(lambda: _one_person_reads_an_output(place))


async def _one_person_reads_an_output(place: Path) -> None:
    context = ToolContext(workspace=Workspace(place), mode=ToolMode.coding)
    toolset = builtin_registry().toolset(ToolMode.coding, context)
    result = await toolset.handle(said("Bash", command="seq 1 9000", access="read"))
    path = result.response.data["truncation"]["full_output_path"]
    assert path.startswith("tool-output/tool_")
    assert (place / path).is_file()
    assert (await toolset.handle(said("read_file", path=path))).response.status.value in ("success", "partial")
    await context.aclose()


def test_two_users_share_files_and_journal_but_not_outputs(tmp_path: Path) -> None:
    shared = Workspace(tmp_path)
    alice, bob = (OwnedWorkspace(shared, "tool-output", name) for name in ("alice", "bob"))
    (tmp_path / "notes.txt").write_text("x")
    assert alice.open_file("notes.txt").read(1, 0) == bob.open_file("notes.txt").read(1, 0) == b"x"
    assert alice.journal is bob.journal is shared.journal
    assert alice.physical("tool-output/a") != bob.physical("tool-output/a")
    assert alice.physical("tool-outputs/a") == "tool-outputs/a"
