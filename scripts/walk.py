"""Follow one call, or one turn, through the rooms: `python scripts/walk.py grep|edit|bash|turn|tests [--path]`.

Prints how many functions of the package were called, how many distinct functions and files that were, and how often
the way crossed from one room (top folder of the package) into another. `--path` prints every step. `tests` counts the
modules that have a test of their name.
"""

import asyncio
import json
import sys
import tempfile
import threading
from itertools import pairwise
from pathlib import Path
from types import FrameType
from typing import Any

import toolgate
from toolgate.testing import AutoApprover, ScriptedModel

PACKAGE = Path(toolgate.__file__).parent
TESTS = Path(__file__).parent.parent / "tests"
CALLS: dict[str, tuple[str, dict[str, Any]]] = {
    "grep": ("grep", {"pattern": "TODO"}),
    "edit": ("edit_file", {"path": "src/app.py", "old_string": "'old'", "new_string": "'new'"}),
    "bash": ("Bash", {"command": "edit src/app.py old new"}),
}
_WAY: list[tuple[str, str]] = []


def main() -> None:
    """Walk, and print the numbers."""
    what, show = (sys.argv[1:2] or [""])[0], "--path" in sys.argv
    if what not in (*CALLS, "turn", "tests"):
        sys.exit(f"walk: choose what to follow: {', '.join(CALLS)}, turn or tests; --path prints every step")
    if what == "tests":
        _print_tests()
        return
    with tempfile.TemporaryDirectory() as directory:
        root = Path(directory) / "project"
        (root / "src").mkdir(parents=True)
        (root / "src" / "app.py").write_text("def main():\n    return 'old'  # TODO\n")
        asyncio.run(_turn(root) if what == "turn" else _call(root, what))
    if show:
        print("\n".join(f"{path}:{function}" for path, function in _WAY))
    crossings = sum(room(before) != room(after) for (before, _), (after, _) in pairwise(_WAY))
    files = {path for path, _ in _WAY}
    print(f"{what}: {len(_WAY)} calls, {len(set(_WAY))} functions, {len(files)} files, {crossings} room changes")


async def _call(root: Path, what: str) -> None:
    name, arguments = CALLS[what]
    call = toolgate.ToolCall(id="1", name=name, arguments=json.dumps(arguments))
    async with toolgate.open(root, mode="coding", approver=AutoApprover(allow=True)) as toolset:
        await toolset.handle(toolgate.ToolCall(id="0", name="ls", arguments="{}"))  # the costs of a first call
        if what == "grep":
            await toolset.handle(call)
        _trace(on=True)
        result = await toolset.handle(call)
        _trace(on=False)
    assert not result.is_error, result.output


async def _turn(root: Path) -> None:
    from toolgate.compose import assemble
    from toolgate.protocol.modes import ToolMode
    from toolgate.settings import Settings

    call = toolgate.ToolCall(id="1", name="grep", arguments='{"pattern": "TODO"}')
    settings = Settings.of(
        workspace={"root": str(root)},
        session={"coding_enabled": True},
        database={"url": f"sqlite+aiosqlite:///{root.parent}/sessions.db"},
    )
    async with assemble(settings, model=ScriptedModel([["I look.", call], "Done."])) as stack:
        session = await stack.sessions.create(ToolMode.coding)
        _trace(on=True)
        events = [event async for event in stack.loop.handle_message(session.id, "What is left to do?")]
        _trace(on=False)
    assert events


def _trace(*, on: bool) -> None:
    threading.setprofile(_step if on else None)
    sys.setprofile(_step if on else None)


def _step(frame: FrameType, event: str, _value: object) -> None:
    code = frame.f_code
    if event == "call" and code.co_filename.startswith(f"{PACKAGE}/") and not code.co_name.startswith("<"):
        _WAY.append((code.co_filename[len(f"{PACKAGE}/") :], code.co_name))


def room(path: str) -> str:
    """The room that a file of the package belongs to."""
    return path.partition("/")[0].removesuffix(".py")


def _print_tests() -> None:
    modules = [path.stem for path in PACKAGE.rglob("*.py") if not path.stem.startswith("__")]
    named = {path.stem.removeprefix("test_") for path in TESTS.rglob("test_*.py")}
    print(f"tests: {sum(module in named for module in modules)} of {len(modules)} modules have a test of their name")


if __name__ == "__main__":
    main()
