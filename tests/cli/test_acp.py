"""The command that an editor starts."""

import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest
from acp import spawn_agent_process, text_block
from acp.exceptions import RequestError

from tests.adapters.acp.kit import Editor
from tests.adapters.mcp_server.kit import environment


@pytest.fixture
def root(tmp_path: Path) -> Path:
    """A small project."""
    project = tmp_path / "project"
    project.mkdir()
    (project / "a.txt").write_text("one\ntwo\n")
    return project


async def test_the_command_serves_an_editor_and_ends_with_it(root: Path) -> None:
    editor = Editor()
    words = ["-m", "toolgate", "acp", "--coding", "--model", "offline", "--root", str(root)]
    more: dict[str, Any] = {
        "env": environment(root.parent / "home"),
        "transport_kwargs": {"shutdown_timeout": 60.0},  # after that the package ends the program itself
    }
    async with spawn_agent_process(editor, sys.executable, *words, **more) as (agent, process):  # type: ignore[arg-type]
        started = await agent.initialize(protocol_version=1)
        assert started.agent_info is not None
        assert started.agent_info.name == "toolgate"
        session = await agent.new_session(cwd=str(root))
        answer = await agent.prompt(session_id=session.session_id, prompt=[text_block("read_file path=a.txt")])
        assert answer.stop_reason == "end_turn"
        with pytest.raises(RequestError, match="not inside"):
            await agent.new_session(cwd=str(root.parent))
    assert [call.title for call in editor.calls("tool_call")] == ["read_file a.txt"]
    assert process.returncode == 0


def test_without_an_editor_at_the_other_end_it_says_so(root: Path) -> None:
    done = subprocess.run(
        [sys.executable, "-m", "toolgate", "acp"],
        env=environment(root.parent / "home"),
        stdin=subprocess.DEVNULL,
        capture_output=True,
        text=True,
        check=False,
        timeout=60,
    )
    assert (done.returncode, done.stderr.count("\n")) == (2, 1)
    assert "must be pipes: an editor starts this command" in done.stderr


@pytest.mark.parametrize("command", [["acp"], ["serve", "--port", "0"], ["chat", "--print", "hi"], ["mcp"]])
def test_a_policy_that_is_none_is_told_at_the_start(root: Path, command: list[str]) -> None:
    policy = root.parent / "policy.toml"
    policy.write_text('[[rule]]\ntool = "Bash"\ndecision = "maybe"\n')
    done = subprocess.run(
        [sys.executable, "-m", "toolgate", *command],
        env={**environment(root.parent / "home"), "TOOLGATE_POLICY_FILE": str(policy)},
        cwd=root,
        input="",
        capture_output=True,
        text=True,
        check=False,
        timeout=60,
    )
    assert (done.returncode, done.stdout, done.stderr.count("\n")) == (2, "", 1)
    assert 'rule 1: \'decision\' is \'maybe\': write "allow", "ask" or "deny"' in done.stderr
    assert not list((root.parent / "home").rglob("*.db"))
