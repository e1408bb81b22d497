"""Tools from installed packages and from `--tools module:attribute`."""

import os
import subprocess
import sys
import textwrap
from collections.abc import Callable
from pathlib import Path

import pytest

from tests.adapters.mcp_server.kit import lines
from toolgate import ToolMode, plugins
from toolgate.compose import assemble
from toolgate.errors import ConfigError
from toolgate.gateway import create_app
from toolgate.plugins import load_tools, tools_of
from toolgate.settings import Settings
from toolgate.testing import ScriptedModel

MODULE = """
from toolgate import Tool, ToolRegistry, ToolResponse, tool
from pydantic import BaseModel


@tool(modes=["chat_safe", "coding"])
def shout(text: str) -> str:
    \"\"\"Shout a text.\"\"\"
    return text.upper()


@tool
def closed() -> str:
    \"\"\"Declares no mode.\"\"\"
    return "never"


@tool(modes=["coding"], name="grep")
def taken() -> None:
    \"\"\"Has a name that is taken.\"\"\"


class Params(BaseModel):
    pass


class Quiet(Tool[Params]):
    name = "quiet"
    description = "Quiet."
    Params = Params
    allowed_modes = frozenset({"coding"})

    async def execute(self, params, context):
        return ToolResponse.success({}, "Quiet.")


ALL = [shout, closed]
NONE = []
NUMBER = 7
registry = ToolRegistry()
registry.register(shout)


def make():
    return [shout]


def broken():
    raise OSError("no licence")


def needs(a, b=1):
    return []
"""

Write = Callable[[str, str], None]


@pytest.fixture
def write(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Write:
    """Write a module that can be imported in this test only."""
    place = tmp_path / "site"
    place.mkdir()
    monkeypatch.syspath_prepend(str(place))
    monkeypatch.setattr(sys, "modules", dict(sys.modules))

    def write(name: str, text: str) -> None:
        path = place / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(textwrap.dedent(text))

    write("shoptools.py", MODULE)
    return write


@pytest.mark.parametrize(
    ("attribute", "names"),
    [
        ("shout", ["shout"]),
        ("ALL", ["shout", "closed"]),
        ("Quiet", ["quiet"]),
        ("registry", ["shout"]),
        ("make", ["shout"]),
    ],
)
def test_a_tool_several_a_registry_or_what_makes_one(write: Write, attribute: str, names: list[str]) -> None:
    (source,) = load_tools([f"shoptools:{attribute}"], installed=False)
    assert source.origin == f"--tools shoptools:{attribute}"
    assert [tool.name for tool in source.tools] == names


def test_the_same_twice_is_once(write: Write) -> None:
    assert len(tools_of(load_tools(["shoptools:shout", "shoptools:shout"], installed=False))) == 1


@pytest.mark.parametrize(
    ("named", "said"),
    [
        ("shoptools", "--tools is module:attribute, for example shop.tools:TOOLS, not 'shoptools'"),
        ("../x:y", "--tools is module:attribute"),
        ("shoptools:", "--tools is module:attribute"),
        ("no_such_module:x", "there is no module 'no_such_module': install its package, or set PYTHONPATH"),
        ("shoptools:shuot", "shoptools has no 'shuot': did you mean shout?"),
        ("shoptools:NUMBER", "7 is not a tool: decorate a function with @tool"),
        ("shoptools:NONE", "there is no tool in it"),
        ("shoptools:needs", "needs needs arguments (a): decorate it with @tool"),
        ("shoptools:broken", "calling it raised OSError (no licence)"),
        ("shoptools:taken", "a tool named 'grep' is already registered"),
        ("badly:x", "importing badly raised ZeroDivisionError (division by zero): mend the module"),
        ("missing_dependency:x", "there is no module 'not_installed_at_all'"),
    ],
)
def test_a_mistake_is_one_sentence_that_says_what_to_do(write: Write, named: str, said: str) -> None:
    write("badly.py", "1 / 0\n")
    write("missing_dependency.py", "import not_installed_at_all\n")
    with pytest.raises(ConfigError) as refused:
        load_tools([named], installed=False)
    assert said in str(refused.value)
    assert "\n" not in str(refused.value)


def install(write: Write, reference: str = "shoptools:ALL") -> None:
    write("shop-1.2.dist-info/METADATA", "Metadata-Version: 2.1\nName: shop\nVersion: 1.2\n")
    write("shop-1.2.dist-info/entry_points.txt", f"[toolgate.tools]\nshop = {reference}\n")


def test_an_installed_package_offers_tools(write: Write) -> None:
    install(write)
    (source,) = load_tools()
    assert (source.origin, [tool.name for tool in source.tools]) == ("shop 1.2", ["shout", "closed"])


def test_the_metadata_of_packages_is_not_read_if_none_has_the_group(
    write: Write, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("importlib.metadata.entry_points", lambda **_: pytest.fail("read"))
    assert plugins.entry_points() == []


@pytest.mark.parametrize("reference", ["shoptools:NUMBER", "gone.away:x", "shoptools:taken"])
def test_an_entry_point_that_cannot_be_used_stops_the_start(write: Write, reference: str) -> None:
    install(write, reference)
    with pytest.raises(ConfigError, match=r"shop 1\.2"):
        load_tools()


def run(place: Path, root: Path, *words: str) -> subprocess.CompletedProcess[str]:
    """A command in a process of its own, which can import what is in `place`."""
    environ = {
        **os.environ,
        "PYTHONPATH": str(place),
        "XDG_CONFIG_HOME": str(root / ".config"),
        "XDG_DATA_HOME": str(root / ".data"),
        "TOOLGATE_MODEL_PROVIDER": "offline",
    }
    command = [sys.executable, "-m", "toolgate", *words]
    return subprocess.run(
        command, cwd=root, env=environ, capture_output=True, text=True, check=False, stdin=subprocess.DEVNULL
    )


def test_the_command_line_calls_and_lists_tools_of_ones_own(write: Write, tmp_path: Path) -> None:
    install(write)
    root = tmp_path / "project"
    root.mkdir()
    called = run(tmp_path / "site", root, "call", "shout", "text=hello")
    assert (called.returncode, '"HELLO"' in called.stdout) == (0, True), called.stderr
    listed = run(tmp_path / "site", root, "tools", "--tools", "shoptools:Quiet")
    rows = {line.split()[0]: line for line in listed.stdout.splitlines()}
    assert "shop 1.2" in rows["shout"]
    assert "--tools shoptools:Quiet" in rows["quiet"]
    assert "built-in" in rows["grep"]
    assert rows["closed"].split()[2:4] == ["-", "-"]


@pytest.mark.parametrize(
    "words", [("chat", "--print", "hi"), ("serve", "--port", "0", "--no-open"), ("mcp",), ("worker",), ("tools",)]
)
def test_every_command_says_in_one_line_what_is_wrong_and_does_not_start(
    write: Write, tmp_path: Path, words: tuple[str, ...]
) -> None:
    root = tmp_path / "project"
    root.mkdir()
    done = run(tmp_path / "site", root, words[0], "--tools", "shoptools:shuot", *words[1:])
    assert done.returncode == 2, done.stderr
    assert done.stderr == (
        f"toolgate {words[0]}: --tools shoptools:shuot: shoptools has no 'shuot': did you mean shout?\n"
    )
    assert not (root / ".data").exists()


def test_the_chat_uses_a_tool_of_ones_own(write: Write, tmp_path: Path) -> None:
    root = tmp_path / "project"
    root.mkdir()
    done = run(tmp_path / "site", root, "chat", "--tools", "shoptools:shout", "--print", "shout text=hello")
    assert (done.returncode, "HELLO" in done.stdout) == (0, True), done.stdout + done.stderr


async def test_an_mcp_client_sees_and_calls_tools_of_ones_own(write: Write, tmp_path: Path) -> None:
    root = tmp_path / "project"
    root.mkdir()
    more = ("--tools", "shoptools:ALL", "--tools", "shout,ls")
    async with lines(root, *more, PYTHONPATH=str(tmp_path / "site")) as server:
        await server.begin()
        listed = await server.ask("list", "tools/list")
        called = await server.call("call", "shout", text="hello")
    assert sorted(tool["name"] for tool in listed["result"]["tools"]) == ["ls", "shout"]
    assert "HELLO" in called["result"]["content"][0]["text"]


async def test_the_gateway_and_the_worker_have_them(write: Write, tmp_path: Path) -> None:
    root = tmp_path / "project"
    root.mkdir()
    tools = tools_of(load_tools(["shoptools:ALL"], installed=False))
    settings = Settings.of(workspace={"root": root}, database={"url": f"sqlite:///{tmp_path}/a.db"})
    async with assemble(settings, model=ScriptedModel([]), tools=tools) as stack:
        assert stack.registry.check_mode("shout", ToolMode.chat_safe)
        assert not stack.registry.check_mode("closed", ToolMode.coding)
    app = create_app(settings, ScriptedModel([]), tools=tools)
    async with app.router.lifespan_context(app):
        names = app.state.service.registry.names()
    assert {"shout", "grep"} <= set(names)
