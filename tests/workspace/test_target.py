"""What is written: kinds of files, protected paths, mode and owner."""

import asyncio
import json
import os
import socket
import stat
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from tests.support.arena import Arena, arena_for
from tests.support.privileges import NOBODY, UIDS, run_as


@pytest.fixture(params=UIDS)
def arena(request: pytest.FixtureRequest) -> Iterator[Arena]:
    with arena_for(request.param) as made:
        yield made


@pytest.mark.parametrize(
    ("name", "arguments"),
    [
        ("read_file", {}),
        ("grep", {"pattern": "x"}),
        ("edit_file", {"old_string": "a", "new_string": "b"}),
        ("write_file", {"content": "x"}),
    ],
)
def test_f01_a_fifo_without_a_writer_is_refused_at_once(arena: Arena, name: str, arguments: dict[str, Any]) -> None:
    os.mkfifo(arena.root / "ff")
    outcome = arena.call(name, path="ff", **arguments)

    assert outcome.status == "error" or outcome.data.get("matches") == []
    assert outcome.code != "TIMEOUT"
    assert stat.S_ISFIFO((arena.root / "ff").lstat().st_mode)


@pytest.mark.skipif(os.geteuid() != 0, reason="making a device node needs root: run the tests as root")
def test_f02_a_device_node_is_refused(arena: Arena) -> None:
    os.mknod(arena.root / "zero", 0o666 | stat.S_IFCHR, os.makedev(1, 5))
    outcome = arena.call("read_file", path="zero")

    assert (outcome.code, "character device" in outcome.text, outcome.growth < 8) == ("INVALID_PARAM", True, True)


def test_f02_a_link_to_a_device_is_refused(arena: Arena) -> None:
    (arena.root / "z").symlink_to("/dev/zero")
    outcome = arena.call("read_file", path="z")

    assert (outcome.code, outcome.growth < 8) == ("ACCESS_DENIED", True)


def test_f03_a_socket_is_refused_and_not_connected_to(arena: Arena, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(arena.root)  # the name of a socket may not be long
    with socket.socket(socket.AF_UNIX) as server:
        server.bind("sock")
        server.listen()
        server.setblocking(False)
        read, written = arena.calls([("read_file", {"path": "sock"}), ("write_file", {"path": "sock", "content": "x"})])
        assert (read.code, written.code) == ("INVALID_PARAM", "INVALID_PARAM")
        with pytest.raises(BlockingIOError):
            server.accept()


def test_f07_a_directory_is_not_a_file(arena: Arena) -> None:
    (arena.root / "dd").mkdir()
    read, written, edited, root, slash = arena.calls(
        [
            ("read_file", {"path": "dd"}),
            ("write_file", {"path": "dd", "content": "x"}),
            ("edit_file", {"path": "dd", "old_string": "a", "new_string": "b"}),
            ("write_file", {"path": ".", "content": "x"}),
            ("write_file", {"path": "new/", "content": "x"}),
        ]
    )

    assert {outcome.code for outcome in (read, written, edited, root, slash)} == {"IS_DIRECTORY"}
    assert "not a writable file" in written.text


@pytest.mark.parametrize("mode", [0o755, 0o600, 0o644, 0o640, 0o4755])
def test_f10_mode_and_owner_are_kept(arena: Arena, mode: int) -> None:
    target = arena.root / "f.sh"
    target.write_text("echo one\n")
    arena.own()
    target.chmod(mode)
    before = target.stat()
    outcomes = [
        run_as(arena.uid, lambda: _call(arena.root, "edit_file", path="f.sh", old_string="one", new_string="two")),
        run_as(arena.uid, lambda: _call(arena.root, "write_file", path="f.sh", content="echo three\n")),
    ]
    after = target.stat()

    assert outcomes == ["success", "success"]
    assert (after.st_mode, after.st_uid, after.st_gid) == (before.st_mode, before.st_uid, before.st_gid)


@pytest.mark.skipif(os.geteuid() != 0, reason="giving a file to another group needs root: run the tests as root")
def test_f10_the_group_of_a_file_is_kept(arena: Arena) -> None:
    target = arena.root / "f.txt"
    target.write_text("one\n")
    arena.own()
    os.chown(target, arena.uid, 4242)
    outcome = run_as(
        arena.uid, lambda: _call(arena.root, "edit_file", path="f.txt", old_string="one", new_string="two")
    )

    # nobody is not in that group and may not give it away: refused instead of changed
    expected = ("success", "two\n") if arena.uid == 0 else ("PERMISSION_DENIED", "one\n")
    assert (outcome, target.read_text(), target.stat().st_gid) == (*expected, 4242)


@pytest.mark.skipif(os.geteuid() != 0, reason="a file of another user needs root: run the tests as root")
def test_f10_nobody_cannot_write_what_is_read_only() -> None:
    with arena_for(NOBODY) as arena:
        target = arena.root / "f.txt"
        target.write_text("one\n")
        arena.own()
        target.chmod(0o444)
        outcome = run_as(
            NOBODY, lambda: _call(arena.root, "edit_file", path="f.txt", old_string="one", new_string="two")
        )
        assert (outcome, target.read_text()) == ("PERMISSION_DENIED", "one\n")


def _call(root: Path, name: str, **arguments: Any) -> str:
    """The error code or status of one call, without the arena's changes of ownership."""
    import toolgate
    from toolgate.testing import AutoApprover

    async def call() -> str:
        context = toolgate.ToolContext(
            workspace=toolgate.Workspace(root), mode=toolgate.ToolMode.coding, approver=AutoApprover()
        )
        toolset = toolgate.builtin_registry().toolset(toolgate.ToolMode.coding, context)
        result = await toolset.handle(toolgate.ToolCall(id="1", name=name, arguments=json.dumps(arguments)))
        error = result.response.error
        return error.code.value if error else result.response.status.value

    return asyncio.run(call())


PROTECTED = [
    ".git/hooks/pre-commit",
    ".git/config",
    ".git//hooks/../hooks/x",
    "./.git/hooks/x",
    "sub/../.git/config",
    "g/hooks/x",
    "g/config",
    ".git",
    ".GIT/config",
    ".git/config.worktree",
    ".git/info/exclude",
    ".git/rebase-merge/git-rebase-todo",
    ".git/HEAD",
    ".git/modules/m/hooks/x",
    "sub/.git/hooks/post-checkout",
    "sub/.git/config",
    ".toolgate/policy.toml",
    ".toolgate/agents/evil.md",
    ".toolgate/journal/journal.jsonl",
    "{root}/.git/hooks/x",
]


@pytest.mark.parametrize("exists", [True, False], ids=["existing", "missing"])
@pytest.mark.parametrize("path", PROTECTED)
def test_f17_protected_paths_are_denied_in_any_spelling(arena: Arena, path: str, exists: bool) -> None:
    if exists:
        for folder in (".git/hooks", ".git/modules/m/hooks", "sub/.git/hooks", ".toolgate/agents"):
            (arena.root / folder).mkdir(parents=True)
        (arena.root / ".git/config").write_text("[core]\n")
        (arena.root / ".git/hooks/x").write_text("x\n")
    (arena.root / "sub").mkdir(exist_ok=True)
    (arena.root / "g").symlink_to(".git")
    before = {found.relative_to(arena.root): found.lstat().st_mtime_ns for found in arena.root.rglob("*")}
    path = path.format(root=arena.root)
    written, edited, dry = arena.calls(
        [
            ("write_file", {"path": path, "content": "evil\n"}),
            ("edit_file", {"path": path, "old_string": "x", "new_string": "evil"}),
            ("write_file", {"path": path, "content": "evil\n", "dry_run": True}),
        ]
    )

    assert (written.code, edited.code, dry.code) == ("ACCESS_DENIED",) * 3
    assert {found.relative_to(arena.root): found.lstat().st_mtime_ns for found in arena.root.rglob("*")} == before


def test_f17_another_name_of_a_protected_file_is_denied(arena: Arena) -> None:
    (arena.root / ".git").mkdir()
    (arena.root / "shared.cfg").write_text("[core]\n")
    (arena.root / ".git/config").symlink_to("../shared.cfg")

    assert arena.call("write_file", path="shared.cfg", content="x").code == "ACCESS_DENIED"


def test_f17_control_files_about_git_and_files_of_the_same_names_can_be_written(arena: Arena) -> None:
    (arena.root / ".git").mkdir()
    outcomes = arena.calls(
        [
            ("write_file", {"path": path, "content": "x\n"})
            for path in (".gitignore", ".gitattributes", ".github/workflows/ci.yml", "config", "hooks/x")
        ]
    )

    assert {outcome.status for outcome in outcomes} == {"success"}


OWN = [
    "policy.toml",
    "./POLICY.toml",
    "{root}/policy.toml",
    "sub/../mcp.json",
    "agent.db",
    "agent.db-wal",
    "tokens",
    "mine/commands/own.md",
    "mine/skills/evil/SKILL.md",
    "link.toml",
]
"""Paths of the runtime's own files that lie in the project, and other names of them."""


@pytest.mark.parametrize("exists", [True, False], ids=["existing", "missing"])
@pytest.mark.parametrize("path", OWN)
def test_f17_own_files_in_the_project_are_denied_even_if_edits_are_accepted(
    arena: Arena, path: str, exists: bool
) -> None:
    import toolgate
    from toolgate.settings import Settings

    (arena.root / "sub").mkdir()
    (arena.root / "policy.toml").write_text("# x\n")  # without it, nothing starts
    (arena.root / "link.toml").symlink_to("policy.toml")
    if exists:
        (arena.root / "mine/commands").mkdir(parents=True)
        for name in ("mcp.json", "agent.db", "agent.db-wal", "tokens", "mine/commands/own.md"):
            (arena.root / name).write_text("# x\n")
    before = {found.relative_to(arena.root): found.lstat().st_mtime_ns for found in arena.root.rglob("*")}
    settings = Settings.of(
        policy_file=arena.root / "policy.toml",
        mcp_config=arena.root / "mcp.json",
        user_directory=arena.root / "mine",
        gateway={"token_file": arena.root / "tokens"},
        database={"url": "sqlite:///agent.db"},
    )
    patch = f"*** Begin Patch\n*** Add File: {path.format(root=arena.root)}\n+evil\n*** End Patch"
    calls = [
        ("write_file", {"path": path.format(root=arena.root), "content": "evil\n"}),
        ("edit_file", {"path": path.format(root=arena.root), "old_string": "x", "new_string": "evil"}),
        ("apply_patch", {"patch": patch}),
    ]

    async def codes() -> list[str]:
        async with toolgate.ToolContext(
            workspace=toolgate.Workspace(arena.root),
            mode=toolgate.ToolMode.coding,
            settings=settings,
            approval_mode=toolgate.ApprovalMode.accept_edits,
        ) as context:
            toolset = toolgate.builtin_registry().toolset(toolgate.ToolMode.coding, context)
            results = [await toolset.call(name, **arguments) for name, arguments in calls]
            return [result.error_code or result.output for result in results]

    assert run_as(arena.uid, lambda: asyncio.run(codes())) == ["ACCESS_DENIED"] * 3
    assert {found.relative_to(arena.root): found.lstat().st_mtime_ns for found in arena.root.rglob("*")} == before


def test_f17_hooks_are_denied_in_the_directory_that_they_are_read_from(arena: Arena) -> None:
    import toolgate
    from toolgate.settings import Settings

    async def code() -> str:
        async with toolgate.ToolContext(
            workspace=toolgate.Workspace(arena.root),
            mode=toolgate.ToolMode.coding,
            settings=Settings.of(user_directory=arena.root),
            approval_mode=toolgate.ApprovalMode.accept_edits,
        ) as context:
            toolset = toolgate.builtin_registry().toolset(toolgate.ToolMode.coding, context)
            return str((await toolset.call("write_file", path="hooks.json", content="{}")).error_code)

    assert run_as(arena.uid, lambda: asyncio.run(code())) == "ACCESS_DENIED"


def test_f17_control_other_files_beside_own_files_can_be_written(arena: Arena) -> None:
    import toolgate
    from toolgate.settings import Settings

    (arena.root / "policy.toml").write_text("# x\n")
    settings = Settings.of(policy_file=arena.root / "policy.toml", user_directory=arena.root / "mine")

    async def codes() -> list[bool]:
        async with toolgate.ToolContext(
            workspace=toolgate.Workspace(arena.root),
            mode=toolgate.ToolMode.coding,
            settings=settings,
            approval_mode=toolgate.ApprovalMode.accept_edits,
        ) as context:
            toolset = toolgate.builtin_registry().toolset(toolgate.ToolMode.coding, context)
            paths = ("policy.toml.txt", "policy", "mine.txt", "sub/policy.toml")
            return [(await toolset.call("write_file", path=path, content="x\n")).is_error for path in paths]

    assert run_as(arena.uid, lambda: asyncio.run(codes())) == [False] * 4


def test_f17_whole_outputs_are_not_written_silently(arena: Arena) -> None:
    """The directory of whole outputs is an ordinary one: writing it asks, and nobody to ask means no."""
    import toolgate

    async def call() -> str:
        context = toolgate.ToolContext(workspace=toolgate.Workspace(arena.root), mode=toolgate.ToolMode.coding)
        toolset = toolgate.builtin_registry().toolset(toolgate.ToolMode.coding, context)
        arguments = json.dumps({"path": "tool-output/x.json", "content": "x"})
        result = await toolset.handle(toolgate.ToolCall(id="1", name="write_file", arguments=arguments))
        return result.response.error.code.value if result.response.error else "allowed"

    assert run_as(arena.uid, lambda: asyncio.run(call())) == "APPROVAL_DENIED"
    assert not (arena.root / "tool-output").exists()
