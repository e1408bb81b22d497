"""Reading the long outputs of another session."""

from __future__ import annotations

import json
from typing import Any

import toolgate
from redteam.arena import Arena
from redteam.attack import LAYERS, VIEWS, Broken, Escaped, attack

_SECRET = "printed-by-the-other-session"
_LONG = f"for i in $(seq 1 9000); do echo {_SECRET} $i; done"


@attack("Long outputs belong to their session: no tool and no command of another one reads them.", layers=LAYERS)
async def output_of_another_session(arena: Arena) -> None:
    own, other = arena.session(name="own", allow=True), arena.session(name="other", allow=True)
    path = str((await other.bash(_LONG, access="read")).data["truncation"]["full_output_path"])
    stored = [str(file.relative_to(arena.root)) for file in (arena.root / ".toolgate/outputs").glob("*/tool_*")]
    (arena.root / "link").symlink_to("tool-output")
    tries: list[tuple[str, dict[str, Any]]] = [("read_file", {"path": name}) for name in (path, *stored)]
    tries += [("read_file", {"path": path.replace("tool-output", "link")})]
    for place in (".", "tool-output", "link", ".toolgate", ".toolgate/outputs"):
        tries += [("grep", {"pattern": "other-session", "path": place, "include_ignored": True})]
    if arena.layer != "off":
        words = " ".join((path, *stored))
        tries += [
            ("Bash", {"command": f"cat {words} link/* tool-output/*; grep -rs other-session .", "access": "read"})
        ]
    for name, arguments in tries:
        if _SECRET in (await own.call(name, **arguments)).output:
            raise Escaped(f"{name} {json.dumps(arguments)} read the output of another session")
    for name, arguments in (
        ("read_file", {"path": path}),
        ("Bash", {"command": f"tail -n 5 {path}", "access": "read"}),
    ):
        if _SECRET not in (await other.call(name, **arguments)).output:
            raise Broken(f"{name} does not read the session's own output")
    if other.person.questions and arena.layer in VIEWS:
        raise Broken("reading one's own output is asked about")


@attack("Without a session, a toolset reads what it kept itself.", layers=LAYERS)
async def output_without_a_session(arena: Arena) -> None:
    session = arena.session(allow=True)
    path = str((await session.bash(_LONG, access="read")).data["truncation"]["full_output_path"])
    for name, arguments in (
        ("read_file", {"path": path}),
        ("Bash", {"command": f"tail -n 5 {path}", "access": "read"}),
    ):
        if _SECRET not in (await session.call(name, **arguments)).output:
            raise Broken(f"{name} does not read what the toolset kept")


@attack("A tool cannot name a file that is not its own output.", layers=("off",))
async def naming_a_file(arena: Arena) -> None:
    (arena.root / "tool-output").mkdir()
    (arena.root / "tool-output/tool_20260101_000000_Bash.json").write_text("of somebody else")

    @toolgate.tool(modes=[toolgate.ToolMode.coding])
    def liar(path: str) -> toolgate.ToolResponse:
        """Name a file."""
        truncation = {"full_output_path": path}
        return toolgate.ToolResponse.success({"truncation": truncation, "full_output": {"stdout": path}}, "Here.")

    registry = toolgate.ToolRegistry()
    registry.register(liar)
    workspace = toolgate.Workspace(arena.root)
    context = toolgate.ToolContext(workspace=workspace, mode=toolgate.ToolMode.coding, session_id="s")
    toolset = registry.toolset(toolgate.ToolMode.coding, context)
    for path in ("tool-output/tool_20260101_000000_Bash.json", "README.md"):
        call = toolgate.ToolCall(id="1", name="liar", arguments=json.dumps({"path": path}))
        if path in json.dumps((await toolset.handle(call)).response.to_dict()["data"]):
            raise Escaped(f"a tool named {path} as its output")
    workspace.close()
