"""Whole outputs belong to their session, and a tool cannot name a file that is not its own output.

Every gateway runs as root and as an unprivileged user.
"""

import asyncio
import json
import os
from collections.abc import Callable, Coroutine, Iterator
from pathlib import Path
from typing import Any

import pytest
from pydantic import SecretStr

from tests.gateway.kit import BEARER, Client, call, gateway, settings_for, web_client
from tests.support.privileges import UIDS, run_as
from tests.support.shells import EVERY_LAYER, Shells
from toolgate import ToolContext, ToolMode, ToolRegistry, ToolResponse, Workspace, builtin_registry, tool
from toolgate.protocol.calls import ToolCall
from toolgate.protocol.plan import Access
from toolgate.testing import ScriptedModel
from toolgate.workspace.output_store import OutputStore
from toolgate.workspace.outputs import OUTPUTS

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
    return sorted((root / OUTPUTS).glob("*/tool_*"))


USERS = {"another user": BOB, "the same user": ALICE}


@pytest.mark.parametrize("who", USERS)
def test_outputs_of_one_session_cannot_be_read_by_another(place: Path, played: Story, who: str) -> None:
    played(lambda: _another_session_tries_to_read(place, USERS[who]))


async def _another_session_tries_to_read(place: Path, token: str) -> None:
    root = place / "root"
    settings = settings_for(place, tokens=SecretStr(f"alice:{ALICE},bob:{BOB}"))
    print_much = f"for i in $(seq 1 60000); do echo {SECRET} $i; done"
    model = ScriptedModel([[said("Bash", command=print_much)], "Long."])
    async with gateway(settings, model) as running, running.client(ALICE) as alice:
        result = await _result(alice, await alice.session("coding"))
    link = result["full_output"]
    paths = [result["data"]["truncation"]["full_output_path"], *result["data"]["full_output"].values()]
    assert all(path.startswith("tool-output/tool_") for path in paths)
    assert all((root / path).is_file() for path in paths)
    tries = list(_attempts(root, paths))
    model = ScriptedModel([turn for attempt in tries for turn in ([attempt], "No.")])
    async with gateway(settings, model) as running, running.client(token) as other, web_client() as web:
        theirs = await other.session("coding")
        for attempt in tries:
            result = await _result(other, theirs)
            assert SECRET not in json.dumps(result), attempt
            if attempt.name in ("ls", "glob"):
                assert "tool_2" not in json.dumps(result["data"]), attempt
        address = f"http://{running.address}{link}"
        assert (await web.get(address, headers={"Authorization": f"Bearer {BOB}"})).status_code == 404
        assert (await web.get(address, headers={"Authorization": f"Bearer {ALICE}"})).status_code == 200


def _attempts(root: Path, paths: list[str]) -> Iterator[ToolCall]:
    """What another session may try: the names that results show, those on disk, and links to both."""
    files = [str(path.relative_to(root)) for path in _stored(root)]
    assert files
    (root / "link").symlink_to(OUTPUTS)
    (root / "runtime").symlink_to(".toolgate")
    (root / "file-link").symlink_to(files[0])
    (root / "names").symlink_to("tool-output")
    below = [f"link/{Path(path).parent.name}/{Path(path).name}" for path in files]
    named = [f"names/{Path(path).name}" for path in paths]
    for path in (*paths, *files, "file-link", *below, *named):
        yield said("read_file", path=path)
    places = (".", "tool-output", ".toolgate", OUTPUTS, "link", "runtime", "file-link", *files)
    for place in places:
        yield said("grep", pattern="only-alice", path=place, include_ignored=True)
        yield said("ls", path=place)
        yield said("glob", pattern="**/tool_*", path=place, include_ignored=True)
    for access in ("read", "write"):
        words = " ".join(paths + files + named)
        yield said("Bash", command=f"cat {words} file-link link/*/* tool-output/*; ls tool-output; true", access=access)


READS = [
    said("read_file", path="PATH"),
    said("grep", pattern="alice-may-read 77.", path="PATH"),
    said("grep", pattern="alice-may-read 78", path="tool-output"),
    said("glob", pattern="**/tool_*", path="tool-output"),
    said("ls", path="tool-output"),
    said("Bash", command="tail -n 5 PATH", access="read"),
    said("Bash", command="head -n 5 PATH; grep -c may-read PATH; cat tool-output/* | tail -n 3", access="write"),
]


def _named(call: ToolCall, path: str) -> ToolCall:
    return call.model_copy(update={"arguments": call.arguments.replace("PATH", path)})


def test_a_session_reads_its_own_outputs_also_after_it_was_resumed(place: Path, played: Story) -> None:
    played(lambda: _a_session_reads_its_own(place))


async def _a_session_reads_its_own(place: Path) -> None:
    settings = settings_for(place, tokens=SecretStr(f"alice:{ALICE},bob:{BOB}"))
    print_much = f"for i in $(seq 1 9000); do echo {SECRET} $i; done"
    for token in (ALICE, BOB):
        model = ScriptedModel([[said("Bash", command=print_much)], "Long."])
        async with gateway(settings, model) as running, running.client(token) as client:
            session = await client.session("coding")
            path = (await _result(client, session))["data"]["truncation"]["full_output_path"]
        reads = [_named(read, path) for read in READS]
        model = ScriptedModel([turn for read in reads for turn in ([read], "Read.")])
        async with gateway(settings, model) as running, running.client(token) as client:
            for read in reads:
                frames = await client.turn(session)
                assert not [frame for frame in frames if frame["type"] == "approval_request"], read
                result = next(frame for frame in frames if frame["type"] == "tool_result")["data"]
                assert result["status"] in ("success", "partial"), (read, result)
                assert (SECRET if read.name not in ("ls", "glob") else path) in json.dumps(result), (read, result)


def test_a_session_and_its_sub_agents_read_each_others_outputs(place: Path, played: Story) -> None:
    played(lambda: _parent_and_child_read(place))


async def _parent_and_child_read(place: Path) -> None:
    settings = settings_for(place)
    grep = said("grep", pattern=SECRET, path="tool-output", limit=1)
    steps: list[Any] = [
        [said("Bash", command=f"for i in $(seq 1 9000); do echo {SECRET} mother $i; done")],
        [said("task", agent="general", prompt="Look.", description="look")],
        [grep],  # the child reads its parent's
        [said("Bash", command=f"for i in $(seq 1 9000); do echo {SECRET} child $i; done")],
        "Seen.",
        [said("grep", pattern=f"{SECRET} child 1.", path="tool-output", limit=1)],
        "Done.",
    ]
    model = ScriptedModel(steps)
    async with gateway(settings, model) as running, running.client() as client:
        await client.turn(await client.session("coding"))
    seen = [
        message["content"] for request in model.requests for message in request.messages if message["role"] == "tool"
    ]
    assert any(f"{SECRET} mother 1" in text and "Found" in text for text in seen)
    assert any(f"{SECRET} child 1" in text and "Found" in text for text in seen)


@EVERY_LAYER
@pytest.mark.parametrize("access", ["read", "write", "full"])
def test_commands_see_the_outputs_of_their_own_session_only(shells: Shells, access: Access) -> None:
    """In every layer: what a layer cannot hide, it names."""
    if (shells.layer, access) == ("landlock", "write"):
        return  # this layer refuses it
    shells.owner = "own"
    paths = run_as(shells.uid, lambda: {name: _kept(shells.root, name) for name in ("own", "other", "")})
    own, other = shells.commands(
        f"cat {paths['own']}; tail -n 1 {paths['own']}",
        f"cat {paths['other']} {paths['']} tool-output/*; cat {OUTPUTS}/*/*; grep -rs 'output of other' .",
        access=access,
    )
    assert own.stdout == "output of own\n" * 2, own.stderr
    assert own.sandbox is not None
    missing = own.sandbox.missing
    known = any("outputs of other sessions" in gap or "everything" in gap for gap in missing)
    assert ("output of other" in other.stdout, "output of ." in other.stdout) == (known, known), other.stdout


def _kept(root: Path, session: str) -> str:
    """The path of an output; without a session it is kept for nobody in particular."""
    workspace = Workspace(root)
    view = workspace.for_session("tool-output", session) if session else workspace
    with OutputStore(view, "tool-output", 7).create("Bash", 1_700_000_000.0) as (path, file):
        file.write(f"output of {session or '.'}\n".encode())
    workspace.close()
    return path


def test_a_shell_that_waits_shows_the_first_output_of_its_session(place: Path, played: Story) -> None:
    played(lambda: _first_output(place))


async def _first_output(place: Path) -> None:
    context = ToolContext(workspace=Workspace(place), mode=ToolMode.coding, session_id="a")
    toolset = builtin_registry().toolset(ToolMode.coding, context)
    assert (await toolset.handle(said("Bash", command="true"))).response.status.value == "success"
    result = await toolset.handle(said("Bash", command="seq 1 9000"))
    path = result.response.data["truncation"]["full_output_path"]
    shown = await toolset.handle(said("Bash", command=f"tail -n 40 {path} | grep -c 89"))
    assert shown.response.status.value == "success", shown.output
    await context.aclose()


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
    async with gateway(settings, model, registry) as running, running.client() as client, web_client() as web:
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


def test_two_sessions_share_files_and_journal_but_not_outputs(tmp_path: Path) -> None:
    shared = Workspace(tmp_path)
    one, two = (shared.for_session("tool-output", name) for name in ("one", "two"))
    (tmp_path / "notes.txt").write_text("x")
    assert one.open_file("notes.txt").read(1, 0) == two.open_file("notes.txt").read(1, 0) == b"x"
    assert one.journal is two.journal is shared.journal
    name = "tool-output/tool_20260101_000000_Bash.json"
    assert one.physical(name) != two.physical(name)
    assert one.physical("tool-output/notes.txt") == "tool-output/notes.txt"
    assert one.for_session("tool-output", "two") is one
