"""Toolgate on macOS and Windows, simulated by taking away what only Linux, or only POSIX, has."""

import subprocess
import sys
from pathlib import Path

import pytest

PROGRAM = Path(__file__).parent / "support" / "platforms.py"
SYSTEMS = pytest.mark.parametrize("system", ["darwin", "win32"])
TOOL = """
import asyncio, toolgate
from toolgate import ToolCall, ToolContext, ToolMode, ToolRegistry, tool

@tool(name="double", modes=[ToolMode.chat_safe])
def double(number: int) -> int:
    '''Double a number.'''
    return 2 * number

async def main():
    registry = ToolRegistry()
    registry.register(double)
    toolset = registry.toolset(ToolMode.chat_safe, ToolContext())
    print((await toolset.handle(ToolCall(id="1", name="double", arguments='{"number": 21}'))).response.data)
    print((await toolset.explain(ToolCall(id="2", name="double", arguments='{"number": 1}'))).decision)

asyncio.run(main())
"""
FILES = """
import asyncio, toolgate

async def main():
    try:
        async with toolgate.open("."):
            pass
    except toolgate.ToolgateError as error:
        print(error)

asyncio.run(main())
"""


def _run(system: str, code: str, cwd: Path, home: Path, stdin: str = "") -> subprocess.CompletedProcess[str]:
    environment = {"PATH": "/usr/bin:/bin", "XDG_CONFIG_HOME": str(home), "XDG_DATA_HOME": str(home)}
    return subprocess.run(
        [sys.executable, str(PROGRAM), system, code],
        capture_output=True,
        text=True,
        check=False,
        cwd=cwd,
        env=environment,
        input=stdin,
    )


def _cli(system: str, home: Path, *words: str, stdin: str = "") -> subprocess.CompletedProcess[str]:
    code = f"import sys\nfrom toolgate.cli import main\nsys.exit(main({[*words]!r}))"
    return _run(system, code, home, home, stdin)


@SYSTEMS
def test_every_public_name_and_room_is_imported(system: str, tmp_path: Path) -> None:
    rooms = "compose models sessions agent adapters.mcp_client runtime.pipeline shell sandbox.layer search testing"
    code = (
        "import importlib, toolgate\n"
        "print(len([getattr(toolgate, name) for name in toolgate.__all__]) == len(toolgate.__all__))\n"
        f"for room in {rooms.split()!r}: importlib.import_module(f'toolgate.{{room}}')"
    )
    done = _run(system, code, tmp_path, tmp_path)

    assert (done.stdout, done.stderr) == ("True\n", "")


@SYSTEMS
def test_a_custom_tool_runs_through_the_pipeline(system: str, tmp_path: Path) -> None:
    done = _run(system, TOOL, tmp_path, tmp_path)

    assert (done.stdout, done.stderr) == ("{'result': 42}\nallow\n", "")


@SYSTEMS
def test_files_say_in_one_sentence_that_they_need_linux(system: str, tmp_path: Path) -> None:
    done = _run(system, FILES, tmp_path, tmp_path)

    assert done.stdout.startswith(f"Working on files needs Linux, and this is {system}. ")
    assert (done.stdout.count("\n"), done.stderr) == (1, "")


@SYSTEMS
@pytest.mark.parametrize("words", [("call", "ls"), ("undo",), ("sh",), ("mcp",)])
def test_a_command_that_needs_linux_says_so(system: str, tmp_path: Path, words: tuple[str, ...]) -> None:
    if (system, words) == ("win32", ("mcp",)):
        words = ("call", "grep", "pattern=x", "--mode", "coding")  # a loop without signals cannot be simulated here
    done = _cli(system, tmp_path, *words)

    assert done.returncode == 2
    assert "needs Linux" in done.stderr
    assert done.stderr.count("\n") == 1


@SYSTEMS
def test_the_chat_works_without_files_and_commands(system: str, tmp_path: Path) -> None:
    typed = "current_time\nBash ls\n/quit\n"
    done = _cli(system, tmp_path, "chat", "--coding", stdin=typed)

    assert done.returncode in (0, 1)  # 1: the last call failed
    assert "(" in done.stdout
    assert "in UTC." in done.stdout
    assert "Unknown tool 'Bash'" in done.stdout
    assert (tmp_path / "toolgate" / "toolgate.db").exists()


@SYSTEMS
def test_one_answer_is_printed(system: str, tmp_path: Path) -> None:
    done = _cli(system, tmp_path, "chat", "--print", "current_time")

    assert (done.returncode, done.stderr) == (0, "")
    assert "in UTC." in done.stdout


@SYSTEMS
def test_the_doctor_says_what_needs_linux(system: str, tmp_path: Path) -> None:
    done = _cli(system, tmp_path, "doctor")

    assert "Working on files and commands needs Linux" in " ".join(done.stdout.split())
    assert done.returncode == 0
