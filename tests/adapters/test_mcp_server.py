"""What an MCP client sees and gets."""

import asyncio
import json
import subprocess
import sys
from pathlib import Path

import jsonschema_rs
import pytest

from tests.adapters.mcp_kit import ERAS, answering, client, code, lines, near, text
from toolgate.protocol.modes import ToolMode
from toolgate.runtime.builtin import builtin_registry

PACKAGES = ("mcp", "mcp_types")


@pytest.fixture
def root(tmp_path: Path) -> Path:
    """A small project."""
    project = tmp_path / "project"
    project.mkdir()
    (project / "a.txt").write_text("one\ntwo\n")
    return project


@pytest.mark.parametrize(("mode", "era"), list(zip(ToolMode, ERAS, strict=True)))
async def test_what_is_listed_is_the_view_of_the_mode(root: Path, mode: ToolMode, era: str) -> None:
    async with client(root, era=era, mode=mode.value) as connected:
        listed = [tool.name for tool in (await connected.list_tools()).tools]
    assert listed == [tool.name for tool in builtin_registry().list_tools(mode) if tool.name != "task"]


async def test_every_tool_says_what_it_does_to_the_world(root: Path) -> None:
    async with near(root) as connected:
        tools = (await connected.list_tools()).tools
    hints = {tool.name: tool.annotations for tool in tools}
    rows = {
        name: (hint.read_only_hint, hint.destructive_hint, hint.idempotent_hint, hint.open_world_hint)
        for name, hint in hints.items()
        if hint is not None
    }
    reading = (True, False, True, False)
    assert rows == {
        "read_file": reading,
        "ls": reading,
        "glob": reading,
        "grep": reading,
        "memory_search": reading,
        "current_time": (True, False, True, True),
        "write_file": (False, True, False, False),
        "edit_file": (False, True, False, False),
        "Bash": (False, True, False, True),
        "memory_append": (False, False, False, False),
        "todo": (False, False, True, False),
        "task": (False, True, False, True),
    }


@pytest.mark.parametrize("era", ERAS)
async def test_an_answer_is_the_envelope_and_what_the_model_reads(root: Path, era: str) -> None:
    async with near(root, era=era) as connected:
        tools = {tool.name: tool for tool in (await connected.list_tools()).tools}
        read = await connected.call_tool("read_file", {"path": "a.txt"})
        missing = await connected.call_tool("read_file", {"path": "b.txt"})
        failed = await connected.call_tool("Bash", {"command": "exit 3"})
    assert text(read) == "Read all 2 lines of 'a.txt'.\n     1\tone\n     2\ttwo"
    assert read.structured_content["data"] == {"content": "     1\tone\n     2\ttwo", "truncated": False}
    assert (read.is_error, missing.is_error, failed.is_error) == (False, True, False)
    assert code(missing) == "NOT_FOUND"
    assert (failed.structured_content["status"], failed.structured_content["data"]["exit_code"]) == ("partial", 3)
    for name, result in (("read_file", read), ("read_file", missing), ("Bash", failed)):
        schema = tools[name].output_schema
        assert schema is not None
        jsonschema_rs.validator_for(schema).validate(result.structured_content)


async def test_a_tool_of_another_mode_is_denied_and_an_unknown_one_corrected(root: Path) -> None:
    async with client(root, mode="chat_safe") as connected:
        denied = await connected.call_tool("write_file", {"path": "x", "content": "x"})
        unknown = await connected.call_tool("writefile", {})
    assert (code(denied), code(unknown)) == ("MODE_DENIED", "TOOL_NOT_FOUND")
    assert json.loads(text(denied))["next_action"] == "Coding mode is not enabled here; continue without this tool."
    assert "CORRECTION" in text(unknown)
    assert "write_file" not in text(unknown)
    assert not (root / "x").exists()


async def test_only_the_tools_that_are_named(root: Path) -> None:
    async with client(root, "--tools", "read_file, ls") as connected:
        listed = [tool.name for tool in (await connected.list_tools()).tools]
        hidden = await connected.call_tool("Bash", {"command": "true"})
    assert listed == ["read_file", "ls"]
    assert code(hidden) == "TOOL_NOT_FOUND"


async def test_wrong_arguments_are_named(root: Path) -> None:
    async with near(root) as connected:
        result = await connected.call_tool("read_file", {"path": 3, "colour": "red"})
    assert code(result) == "INVALID_PARAM"
    assert "path" in text(result)
    assert "colour" in text(result)


async def test_e04_arguments_above_a_mebibyte_are_refused_and_the_server_goes_on(root: Path) -> None:
    async with near(root, elicitation_callback=answering()) as connected:
        large = await connected.call_tool("write_file", {"path": "x", "content": "x" * (1 << 20)})
        after = await connected.call_tool("read_file", {"path": "a.txt"})
    assert code(large) == "INVALID_PARAM"
    assert not after.is_error
    assert not (root / "x").exists()


async def test_calls_run_side_by_side_and_none_is_crossed(root: Path) -> None:
    for number in range(20):
        (root / f"{number}.txt").write_text(f"this is {number}\n")
    async with client(root) as connected:
        calls = [connected.call_tool("read_file", {"path": f"{number}.txt"}) for number in range(20)]
        command = "until [ -e go ]; do sleep 0.05; done; echo slept"
        slow = asyncio.create_task(connected.call_tool("Bash", {"command": command}))
        results = await asyncio.gather(*calls)
        assert not slow.done()
        (root / "go").touch()
        assert "slept" in text(await slow)
    for number, result in enumerate(results):
        assert f"this is {number}" in text(result)


async def test_the_shell_of_a_client_keeps_its_state(root: Path) -> None:
    (root / "sub").mkdir()
    async with near(root) as connected:
        await connected.call_tool("Bash", {"command": "cd sub; export A=1"})
        result = await connected.call_tool("Bash", {"command": "pwd; echo $A"})
    assert text(result).split() == [str(root / "sub"), "1"]


async def test_notes_outlive_the_server(root: Path) -> None:
    async with client(root, mode="chat_safe") as connected:
        assert not (await connected.call_tool("memory_append", {"content": "the door is green"})).is_error
    async with client(root, mode="chat_safe") as connected:
        found = await connected.call_tool("memory_search", {"query": "door"})
    assert found.structured_content["data"]["matches"][0]["content"] == "the door is green"


async def test_what_was_written_can_be_taken_back(root: Path) -> None:
    from toolgate.workspace import Workspace
    from toolgate.workspace.undo import undo

    async with client(root, elicitation_callback=answering()) as connected:
        await connected.call_tool("edit_file", {"path": "a.txt", "old_string": "one", "new_string": "1"})
    assert (root / "a.txt").read_text() == "1\ntwo\n"
    workspace = Workspace(root)
    undo(workspace)
    workspace.close()
    assert (root / "a.txt").read_text() == "one\ntwo\n"


async def test_a_record_is_kept_where_it_is_wanted(root: Path) -> None:
    from toolgate.sessions import Database, SessionManager
    from toolgate.settings import SessionSettings

    async with client(root, "--record") as connected:
        await connected.call_tool("read_file", {"path": "a.txt"})
        await connected.call_tool("write_file", {"path": "b.txt", "content": ""})
    database = Database(f"sqlite:///{root.parent}/home/data/toolgate/toolgate.db")
    manager = SessionManager(database, SessionSettings(coding_enabled=True))
    [session] = await manager.list()
    calls = [
        (event.payload["tool_name"], event.kind, event.payload.get("status"))
        for event in await manager.events(session.id)
        if event.kind.startswith("call_")
    ]
    assert await manager.try_claim(session.id) is not None
    await database.close()
    assert calls == [
        ("read_file", "call_started", None),
        ("read_file", "call_finished", "success"),
        ("write_file", "call_finished", "error"),
    ]


@pytest.mark.parametrize(
    ("more", "said"),
    [
        (("--tools", "nothing"), "no tool 'nothing' in coding mode; there are: read_file,"),
        (("--tools", " , "), "--tools names no tool"),
        (("--port", "80"), "--host and --port belong to --http"),
        (("--root", "no/such/place"), "no/such/place: No such file or directory"),
    ],
)
async def test_a_command_line_that_cannot_be_meant_is_one_clear_line(
    root: Path, more: tuple[str, ...], said: str
) -> None:
    async with lines(root, *more) as server:
        assert await server.ended() == 2
        assert server.process.stderr is not None
        err = (await server.process.stderr.read()).decode()
    assert err.startswith("toolgate mcp: ")
    assert said in err
    assert err.count("\n") == 1


async def test_a_policy_that_cannot_be_read_stops_the_start(root: Path) -> None:
    (root / ".toolgate").mkdir()
    (root / ".toolgate/policy.toml").write_text("[[rule]\n")
    async with lines(root) as server:
        assert await server.ended() == 2


def test_without_the_package_it_says_what_to_install(tmp_path: Path) -> None:
    code = (
        "import sys; sys.modules.update(mcp=None, mcp_types=None); from toolgate.cli import main; "
        "sys.exit(main(['mcp', '--root', sys.argv[1]]))"
    )
    done = subprocess.run([sys.executable, "-c", code, str(tmp_path)], capture_output=True, text=True, check=False)
    assert done.returncode == 2
    assert done.stderr in {f"toolgate mcp: {name} is not installed: pip install 'toolgate[mcp]'\n" for name in PACKAGES}
