"""Client roots: they narrow the project, and never widen it."""

import asyncio
from pathlib import Path
from typing import Any

import mcp_types as types
import pytest
from mcp.shared.exceptions import MCPError

from tests.adapters.mcp_server.kit import Sleeper, client, near, text
from toolgate.adapters.mcp_server.roots import narrowed_workspace
from toolgate.settings import Settings
from toolgate.workspace import Workspace


@pytest.fixture
def root(tmp_path: Path) -> Path:
    """A project with a part, beside somebody else's."""
    project = tmp_path / "project"
    (project / "part one").mkdir(parents=True)
    (project / "part one/inner.txt").write_text("inner\n")
    (project / "outer.txt").write_text("outer\n")
    (tmp_path / "project-evil").mkdir()
    return project


def _narrowed(root: Path, *roots: Path | str) -> Path | None:
    workspace = Workspace(root)
    found = narrowed_workspace(workspace, [str(one) for one in roots])
    workspace.close()
    if found is None:
        return None
    found.close()
    return found.root


def test_a_root_inside_narrows(root: Path) -> None:
    assert _narrowed(root, root / "part one") == root / "part one"


def test_the_first_root_inside_counts(root: Path) -> None:
    assert _narrowed(root, "/", root.parent / "project-evil", root / "part one", root) == root / "part one"


@pytest.mark.parametrize(
    "wanted", ["/", "..", "../project-evil", ".", "absent", "outer.txt", "link", ".git/hooks", ".toolgate"]
)
def test_p02_no_other_root_changes_anything(root: Path, wanted: str) -> None:
    (root / "link").symlink_to(root.parent / "project-evil")
    (root / ".git/hooks").mkdir(parents=True)
    (root / ".toolgate").mkdir()
    assert _narrowed(root, (root / wanted) if wanted != "/" else "/") is None


def test_a_project_with_a_policy_is_not_narrowed(root: Path) -> None:
    (root / ".toolgate").mkdir()
    (root / ".toolgate/policy.toml").write_text("")
    assert _narrowed(root, root / "part one") is None


RULES = {
    "path": 'tool = "read_file"\nargs = { path = "part one/inner.txt" }\ndecision = "deny"',
    "project": 'tool = "read_file"\nproject = "ROOT"\ndecision = "deny"',
    "broken": "no = 1",
}


@pytest.mark.parametrize("kind", [*RULES, "words", "missing"])
def test_a_root_does_not_take_the_users_rules_their_paths(root: Path, kind: str) -> None:
    policy = root.parent / "policy.toml"
    text = {**RULES, "words": 'tool = "Bash"\nwords = ["rm"]\ndecision = "deny"', "missing": ""}[kind]
    if text:
        policy.write_text("[[rule]]\n" + text.replace("ROOT", str(root)))
    workspace = Workspace(root)
    found = narrowed_workspace(workspace, [str(root / "part one")], Settings.of(policy_file=policy))
    assert (found is None) == (kind in RULES)
    if found is not None:
        found.close()
    workspace.close()


@pytest.mark.parametrize("name", [".ssh", ".aws", ".config", "home/.config/gcloud", ".vscode", ".claude/x", ".husky"])
def test_files_that_are_judged_by_the_name_of_their_directory_keep_it(root: Path, name: str) -> None:
    (root / name).mkdir(parents=True)
    assert _narrowed(root, root / name) is None


async def test_a_rule_that_denies_a_path_holds_for_a_client_in_a_part_of_the_project(root: Path) -> None:
    home = root.parent / "home/config/toolgate"
    home.mkdir(parents=True)
    async with client(root, list_roots_callback=_roots(root / "part one")) as connected:
        assert "inner" in text(await connected.call_tool("read_file", {"path": "inner.txt"}))
        (home / "policy.toml").write_text("[[rule]]\n" + RULES["path"])
        for path in ("inner.txt", "part one/inner.txt", str(root / "part one/inner.txt")):
            assert (await connected.call_tool("read_file", {"path": path})).is_error, path
        assert "outer" in text(await connected.call_tool("read_file", {"path": "outer.txt"}))


async def test_a_rule_about_paths_holds_for_a_client_with_a_running_call(root: Path) -> None:
    home = root.parent / "home/config/toolgate"
    home.mkdir(parents=True)
    sleeper = Sleeper()
    async with client(root, list_roots_callback=_roots(root / "part one")) as connected:
        assert "inner" in text(await connected.call_tool("read_file", {"path": "inner.txt"}))
        running = asyncio.create_task(connected.call_tool("Bash", {"command": sleeper.command}))
        while not sleeper.processes():
            await asyncio.sleep(0.01)
        (home / "policy.toml").write_text("[[rule]]\n" + RULES["path"])
        with pytest.raises(MCPError, match="policy"):
            await connected.call_tool("read_file", {"path": "inner.txt"})
        running.cancel()
        await sleeper.gone()


async def test_a_mistake_in_the_users_policy_leaves_a_client_where_it_is(root: Path) -> None:
    home = root.parent / "home/config/toolgate"
    home.mkdir(parents=True)
    async with client(root, list_roots_callback=_roots(root / "part one")) as connected:
        assert "inner" in text(await connected.call_tool("read_file", {"path": "inner.txt"}))
        (home / "policy.toml").write_text("[[rule]]\n" + RULES["broken"])
        assert "inner" in text(await connected.call_tool("read_file", {"path": "inner.txt"}))
        (home / "policy.toml").write_text("[[rule]]\n" + RULES["path"])
        assert (await connected.call_tool("read_file", {"path": "part one/inner.txt"})).is_error
        assert "outer" in text(await connected.call_tool("read_file", {"path": "outer.txt"}))


def _roots(*paths: Path) -> Any:
    async def answer(_: Any) -> types.ListRootsResult:
        return types.ListRootsResult(roots=[types.Root(uri=path.as_uri()) for path in paths])  # type: ignore[arg-type]

    return answer


async def test_a_client_sees_only_the_part_that_it_works_in(root: Path) -> None:
    async with client(root, list_roots_callback=_roots(root / "part one")) as connected:
        inner = await connected.call_tool("read_file", {"path": "inner.txt"})
        outer = await connected.call_tool("read_file", {"path": "../outer.txt"})
        where = await connected.call_tool("Bash", {"command": "pwd"})
    assert "inner" in text(inner)
    assert outer.is_error
    assert text(where).strip() == str(root / "part one")


async def test_a_root_elsewhere_leaves_the_operators(root: Path) -> None:
    async with near(root, list_roots_callback=_roots(root.parent)) as connected:
        outer = await connected.call_tool("read_file", {"path": "outer.txt"})
        beyond = await connected.call_tool("ls", {"path": str(root.parent)})
    assert "outer" in text(outer)
    assert beyond.is_error


async def test_a_client_that_does_not_answer_keeps_the_operators_root(root: Path) -> None:
    async def failing(_: Any) -> types.ErrorData:
        return types.ErrorData(code=-32603, message="no")

    async with near(root, list_roots_callback=failing) as connected:
        assert "outer" in text(await connected.call_tool("read_file", {"path": "outer.txt"}))


@pytest.mark.filterwarnings("ignore:The roots capability is deprecated")
async def test_roots_that_change_count_from_the_next_call(root: Path) -> None:
    current: list[Path] = [root]

    async def answer(_: Any) -> types.ListRootsResult:
        return types.ListRootsResult(roots=[types.Root(uri=path.as_uri()) for path in current])  # type: ignore[arg-type]

    sleeper = Sleeper()
    async with near(root, list_roots_callback=answer) as connected:
        assert "outer" in text(await connected.call_tool("read_file", {"path": "outer.txt"}))
        await connected.call_tool("Bash", {"command": f"sleep {sleeper.seconds}", "background": True})
        current[:] = [root / "part one"]
        await connected.send_roots_list_changed()
        assert "inner" in text(await connected.call_tool("read_file", {"path": "inner.txt"}))
        await sleeper.gone()
        current[:] = []
        await connected.send_roots_list_changed()
        assert "outer" in text(await connected.call_tool("read_file", {"path": "outer.txt"}))
