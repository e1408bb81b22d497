"""The project's files as a person sees them."""

import os
from pathlib import Path

from tests.gateway.kit import TOKEN, gateway, settings_for
from tests.gateway.test_project_methods import a_project
from toolgate.testing import ScriptedModel


async def test_files_are_listed_read_and_completed(tmp_path: Path) -> None:
    a_project(tmp_path)
    async with gateway(settings_for(tmp_path), ScriptedModel([])) as running, running.client() as client:
        session = await client.session("chat_safe")  # the person looks, not the model
        listed = await client.data("files.list", session_id=session)
        assert [(entry["name"], entry["kind"]) for entry in listed["entries"]] == [
            ("junk", "dir"),
            ("src", "dir"),
            ("tests", "dir"),
            (".gitignore", "file"),
            ("README.md", "file"),
        ]
        deep = await client.data("files.list", session_id=session, path="src/deep")
        assert deep["entries"] == [{"name": "prices.py", "path": "src/deep/prices.py", "kind": "file"}]
        read = await client.data("files.read", session_id=session, path="src/deep/prices.py")
        assert (read["content"], read["language"], read["truncated"]) == ("PEARS = 2\n", "python", False)
        for query, best in (("prices", "src/deep/prices.py"), ("sdp", "src/deep/"), ("READ", "README.md")):
            assert best in (await client.data("files.complete", session_id=session, query=query))["paths"][:3], query
        paths = (await client.data("files.complete", session_id=session, query=""))["paths"]
        assert not [path for path in paths if path.startswith((".git/", "junk/"))]


async def test_long_files_come_in_windows_and_secrets_are_masked(tmp_path: Path) -> None:
    root = a_project(tmp_path)
    (root / "long.txt").write_text("".join(f"line {number}\n" for number in range(1, 5001)))
    (root / "token.txt").write_text(f"the token is {TOKEN}\n")
    async with gateway(settings_for(tmp_path), ScriptedModel([])) as running, running.client() as client:
        session = await client.session()
        first = await client.data("files.read", session_id=session, path="long.txt")
        assert (first["lines"], first["truncated"], first["total_lines"]) == (2000, True, 5000)
        last = await client.data("files.read", session_id=session, path="long.txt", start_line=4999)
        assert (last["content"], last["truncated"]) == ("line 4999\nline 5000\n", False)
        secret = await client.data("files.read", session_id=session, path="token.txt")
        assert TOKEN not in secret["content"]


async def test_nothing_outside_the_project_and_none_of_its_bookkeeping_is_shown(tmp_path: Path) -> None:
    root = a_project(tmp_path)
    (tmp_path / "outside.txt").write_text("private")
    (root / "link").symlink_to(tmp_path / "outside.txt")
    (root / "inside").symlink_to(root / ".git")
    (root / "pipe").write_bytes(b"\x7fELF\0")
    bad = ("../outside.txt", "/etc/passwd", "link", ".git/config", ".GIT/config", "inside/config", "pipe", "nothing")
    async with gateway(settings_for(tmp_path), ScriptedModel([])) as running, running.client() as client:
        session = await client.session()
        for path in bad:
            frame = await client.ask("files.read", session_id=session, path=path)
            assert (frame["type"], frame["data"]["code"]) == ("error", "INVALID_PARAMS"), path
            assert str(tmp_path) not in frame["data"]["message"]
        for path in ("..", ".git", "inside", "README.md"):
            assert (await client.ask("files.list", session_id=session, path=path))["type"] == "error", path


async def test_the_runtimes_own_files_in_the_project_are_not_shown(tmp_path: Path) -> None:
    """Other users of the gateway could read keys, and what everybody has said."""
    root = a_project(tmp_path)
    for name in ("mcp.json", "policy.toml"):
        (root / name).write_text('{"mcpServers": {}}' if name == "mcp.json" else "# x\n")
    (root / "soft.txt").symlink_to("mcp.json")
    os.link(root / "policy.toml", root / "hard.txt")
    changes = {"mcp_config": root / "mcp.json", "policy_file": root / "policy.toml"}
    settings = settings_for(tmp_path).model_copy(update=changes)
    async with gateway(settings, ScriptedModel([])) as running, running.client() as client:
        session = await client.session("chat_safe")
        for path in ("mcp.json", "policy.toml", "src/../mcp.json", "soft.txt", "hard.txt"):
            frame = await client.ask("files.read", session_id=session, path=path)
            assert (frame["type"], frame["data"].get("code")) == ("error", "INVALID_PARAMS"), path
        read = await client.data("files.read", session_id=session, path="README.md")
        assert read["lines"] > 0
