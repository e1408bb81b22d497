"""Toolgate on macOS and Windows, simulated by taking away what only Linux, or only POSIX, has."""

import itertools
import json
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import NamedTuple

import pytest

PROGRAM = Path(__file__).parent / "support" / "platforms.py"
SYSTEMS = pytest.mark.parametrize("system", ["darwin", "win32"])
pytestmark = pytest.mark.timeout(600)  # the first of them waits until other people's modules are loaded
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


class Done(NamedTuple):
    returncode: int
    stdout: str
    stderr: str


class Platforms:
    """Runs Python source on simulated systems."""

    def __init__(self, home: Path) -> None:
        self._home = home
        self._jobs = itertools.count()
        self._process = subprocess.Popen(
            [sys.executable, str(PROGRAM)], stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True, bufsize=1
        )

    def run(self, system: str, code: str, cwd: Path, stdin: str = "") -> Done:
        assert self._process.stdin is not None
        assert self._process.stdout is not None
        number = next(self._jobs)
        streams = {name: str(self._home / f"{name}{number}") for name in ("stdin", "stdout", "stderr")}
        Path(streams["stdin"]).write_text(stdin)
        environment = {"PATH": "/usr/bin:/bin", "XDG_CONFIG_HOME": str(cwd), "XDG_DATA_HOME": str(cwd)}
        job = {"number": number, "system": system, "code": code, "cwd": str(cwd), "environment": environment, **streams}
        self._process.stdin.write(f"{json.dumps(job)}\n")
        answered, code_of_exit = map(int, self._process.stdout.readline().split())
        while answered < number:  # by a test that reached its limit before
            answered, code_of_exit = map(int, self._process.stdout.readline().split())
        return Done(code_of_exit, Path(streams["stdout"]).read_text(), Path(streams["stderr"]).read_text())

    def cli(self, system: str, cwd: Path, *words: str, stdin: str = "") -> Done:
        code = f"import sys\nfrom toolgate.cli import main\nsys.exit(main({[*words]!r}))"
        return self.run(system, code, cwd, stdin)

    def close(self) -> None:
        self._process.communicate()


@pytest.fixture(scope="module")
def platforms(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Platforms]:
    made = Platforms(tmp_path_factory.mktemp("platforms"))
    yield made
    made.close()


@SYSTEMS
def test_every_public_name_and_room_is_imported(platforms: Platforms, system: str, tmp_path: Path) -> None:
    rooms = "compose models sessions agent adapters.mcp_client runtime.pipeline shell sandbox.layer search testing"
    code = (
        "import importlib, toolgate\n"
        "print(len([getattr(toolgate, name) for name in toolgate.__all__]) == len(toolgate.__all__))\n"
        f"for room in {rooms.split()!r}: importlib.import_module(f'toolgate.{{room}}')"
    )
    done = platforms.run(system, code, tmp_path)

    assert (done.stdout, done.stderr) == ("True\n", "")


@SYSTEMS
def test_a_custom_tool_runs_through_the_pipeline(platforms: Platforms, system: str, tmp_path: Path) -> None:
    done = platforms.run(system, TOOL, tmp_path)

    assert (done.stdout, done.stderr) == ("{'result': 42}\nallow\n", "")


@SYSTEMS
def test_files_say_in_one_sentence_that_they_need_linux(platforms: Platforms, system: str, tmp_path: Path) -> None:
    done = platforms.run(system, FILES, tmp_path)

    assert done.stdout.startswith(f"Working on files needs Linux, and this is {system}. ")
    assert (done.stdout.count("\n"), done.stderr) == (1, "")


@SYSTEMS
@pytest.mark.parametrize("words", [("call", "ls"), ("undo",), ("sh",), ("mcp",)])
def test_a_command_that_needs_linux_says_so(
    platforms: Platforms, system: str, tmp_path: Path, words: tuple[str, ...]
) -> None:
    if (system, words) == ("win32", ("mcp",)):
        words = ("call", "grep", "pattern=x", "--mode", "coding")  # a loop without signals cannot be simulated here
    done = platforms.cli(system, tmp_path, *words)

    assert done.returncode == 2
    assert "needs Linux" in done.stderr
    assert done.stderr.count("\n") == 1


@SYSTEMS
def test_the_chat_works_without_files_and_commands(platforms: Platforms, system: str, tmp_path: Path) -> None:
    typed = "current_time\nBash ls\n/quit\n"
    done = platforms.cli(system, tmp_path, "chat", "--coding", stdin=typed)

    assert done.returncode in (0, 1)  # 1: the last call failed
    assert "(" in done.stdout
    assert "in UTC." in done.stdout
    assert "Unknown tool 'Bash'" in done.stdout
    assert (tmp_path / "toolgate" / "toolgate.db").exists()


@SYSTEMS
def test_one_answer_is_printed(platforms: Platforms, system: str, tmp_path: Path) -> None:
    done = platforms.cli(system, tmp_path, "chat", "--print", "current_time")

    assert (done.returncode, done.stderr) == (0, "")
    assert "in UTC." in done.stdout


@SYSTEMS
def test_the_doctor_says_what_needs_linux(platforms: Platforms, system: str, tmp_path: Path) -> None:
    done = platforms.cli(system, tmp_path, "doctor")

    assert "Working on files and commands needs Linux" in " ".join(done.stdout.split())
    assert done.returncode == 0
