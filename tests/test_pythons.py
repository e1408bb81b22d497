"""The wheel on the other Python versions that this machine has: library and commands, with warnings as errors."""

import os
import shutil
import subprocess
import sys
from pathlib import Path

import pytest

ROOT = Path(__file__).parent.parent
VERSIONS = ("3.11", "3.12", "3.13", "3.14")
OLD = "ignore:Binding:DeprecationWarning"
"""Python 3.12.0 to 3.12.3 warn of `?1` in SQL; later versions took that back."""
pytestmark = [pytest.mark.outside, pytest.mark.slow, pytest.mark.timeout(900)]
PROGRAM = """
import asyncio, gc, sys
failed = []
sys.unraisablehook = failed.append
import toolgate
from toolgate import ToolCall, tool
from toolgate.agent import AgentLoop
from toolgate.sessions import InMemorySessions
from toolgate.testing import ScriptedModel

@tool(modes=["chat_safe", "coding"])
def count_words(text: str) -> int:
    "Count the words of a text."
    return len(text.split())

async def main():
    async with toolgate.open(".", mode="coding", tools=[count_words], approver=yes) as toolset:
        assert (await toolset.call("count_words", text="to be")).response.data == {"result": 2}
        assert (await toolset.call("write_file", path="a.txt", content="x")).error_code is None
        found = await toolset.call("Bash", command="cat a.txt; echo $((1 + 1))")
        assert found.response.data["stdout"].split() == ["x2"], found.output
    registry = toolgate.ToolRegistry()
    registry.register(count_words)
    sessions = InMemorySessions()  # dropped, and not closed
    model = ScriptedModel([[ToolCall(id="1", name="count_words", arguments='{"text": "a b"}')], "Two."])
    async with AgentLoop(model, registry, sessions) as loop:
        events = [event async for event in loop.handle_message((await sessions.create()).id, "Hi")]
    assert type(events[-1]).__name__ == "TurnDone", events

async def yes(request):
    return True

[getattr(toolgate, name) for name in toolgate.__all__]
asyncio.run(main())
gc.collect()
assert failed == [], failed
"""


def _python(version: str) -> str | None:
    """Return a Python of this version, from the path or from pyenv."""
    own = Path("~/.pyenv/versions").expanduser().glob(f"{version}.*/bin/python")
    for path in (shutil.which(f"python{version}"), *map(str, own)):
        if path is not None:
            done = subprocess.run([path, "--version"], capture_output=True, text=True, check=False)
            if done.stdout.startswith(f"Python {version}."):
                return path
    return None


@pytest.fixture(scope="module")
def wheel(tmp_path_factory: pytest.TempPathFactory) -> Path:
    place = tmp_path_factory.mktemp("dist")
    build = [sys.executable, "-m", "hatchling", "build", "-t", "wheel", "-d", str(place)]
    subprocess.run(build, cwd=ROOT, check=True, capture_output=True)
    (made,) = place.glob("*.whl")
    return made


@pytest.mark.parametrize("version", [one for one in VERSIONS if one != f"3.{sys.version_info.minor}"])
def test_the_wheel_works_on_another_python(version: str, wheel: Path, tmp_path: Path) -> None:
    python = _python(version)
    if python is None:
        pytest.skip(f"needs Python {version}: put python{version} on the PATH")
    subprocess.run([python, "-m", "venv", "--without-pip", str(tmp_path / "venv")], check=True)
    programs = tmp_path / "venv" / "bin"
    pip = [sys.executable, "-m", "pip", "--python", str(programs / "python"), "install", "--quiet", str(wheel)]
    installed = subprocess.run(pip, capture_output=True, text=True, check=False)
    assert installed.returncode == 0, installed.stderr
    (tmp_path / "project").mkdir()

    for command in (
        [str(programs / "python"), "-W", "error", "-W", OLD, "-c", PROGRAM],
        [str(programs / "toolgate"), "call", "current_time"],
        [str(programs / "toolgate"), "chat", "--print", "current_time"],
    ):
        environ = {"PATH": os.environ["PATH"], "HOME": str(tmp_path)}
        done = subprocess.run(
            command, cwd=tmp_path / "project", env=environ, capture_output=True, text=True, check=False
        )
        assert done.returncode == 0, done.stdout + done.stderr
