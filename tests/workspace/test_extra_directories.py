"""`TOOLGATE_WORKSPACE_EXTRA`: directories beside the project that tools and commands read and never write."""

import os
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from pathlib import Path
from typing import Any

import pytest

import toolgate
from tests.kit import call, code_of
from toolgate import CallableToolset, ToolResult
from toolgate.compose import assemble
from toolgate.errors import ConfigError, ToolError
from toolgate.models import OfflineModel
from toolgate.protocol.envelope import ToolResponse
from toolgate.settings import Settings
from toolgate.testing import AutoApprover
from toolgate.workspace import Workspace
from toolgate.workspace.extra_directories import open_extra

SECRET = "hunter2-0123456789"
DENY = '[[rule]]\ntool = "read_file"\nargs = { path = "vault/**" }\ndecision = "deny"\n'
LAYERS = ["bwrap", "landlock"]


@pytest.fixture
def place(tmp_path: Path) -> Path:
    """A project `root` and beside it the directory `docs`."""
    for name in ("root", "docs/sub", "docs/vault", "private"):
        (tmp_path / name).mkdir(parents=True)
    (tmp_path / "root" / "a.txt").write_text("project\n")
    (tmp_path / "docs" / "a.txt").write_text("needle in docs\n")
    (tmp_path / "docs" / "sub" / "b.md").write_text("needle below\n")
    (tmp_path / "docs" / ".env").write_text(f"TOKEN={SECRET}\n")
    (tmp_path / "docs" / "vault" / "c.txt").write_text(f"needle {SECRET}\n")
    (tmp_path / "private" / "d.txt").write_text(f"needle {SECRET}\n")
    (tmp_path / "docs" / "out").symlink_to("../private")
    (tmp_path / "docs" / "far.txt").symlink_to(tmp_path / "private" / "d.txt")
    (tmp_path / "docs" / "near.txt").symlink_to("sub/b.md")
    return tmp_path


@asynccontextmanager
async def opened(place: Path, approver: Any = None, rules: str = "", **shell: Any) -> AsyncIterator[CallableToolset]:
    policy = place / "policy.toml"
    policy.write_text(rules)
    settings = Settings.of(policy_file=policy, shell=shell, workspace={"extra": [str(place / "docs")]})
    async with toolgate.open(place / "root", mode="coding", approver=approver, settings=settings) as toolset:
        yield toolset


async def answer(place: Path, tool: str, **arguments: Any) -> ToolResponse:
    async with opened(place) as toolset:
        return (await toolset.handle(call(tool, arguments))).response


def shown(result: ToolResult) -> str:
    return result.output + result.response.to_json() + result.message


async def test_read_file_reads_there_by_the_absolute_path(place: Path) -> None:
    read = await answer(place, "read_file", path=f"{place}/docs/a.txt")
    assert "needle in docs" in read.data["content"]
    assert read.context["path_resolved"] == f"{place}/docs/a.txt"
    near = await answer(place, "read_file", path=f"{place}/docs/sub/../near.txt")
    assert "needle below" in near.data["content"]
    several = await answer(place, "read_file", path="a.txt", paths=[f"{place}/docs/a.txt"])
    assert [file["read"] for file in several.data["files"]] == [True, True]


async def test_ls_glob_and_grep_show_absolute_paths_there(place: Path) -> None:
    listing = await answer(place, "ls", path=f"{place}/docs", depth=2)
    assert {"path": f"{place}/docs/sub/b.md", "type": "file"} in listing.data["entries"]
    for arguments in (
        {"pattern": "**/*.md", "path": f"{place}/docs"},
        {"pattern": f"{place}/docs/**/*.md"},
        {"pattern": f"{place}/docs/sub/*.md"},
        {"pattern": "sub/*.md", "path": f"{place}/docs"},
    ):
        assert (await answer(place, "glob", **arguments)).data["paths"] == [f"{place}/docs/sub/b.md"], arguments
    found = await answer(place, "grep", pattern="needle", path=f"{place}/docs")
    files = [match["file"] for match in found.data["matches"]]
    assert files == [f"{place}/docs/a.txt", f"{place}/docs/sub/b.md", f"{place}/docs/vault/c.txt"]


async def test_grep_without_ripgrep_finds_the_same(place: Path) -> None:
    async with opened(place, ripgrep="") as toolset:
        found = await toolset.handle(call("grep", {"pattern": "needle", "path": f"{place}/docs/sub"}))
    assert [match["file"] for match in found.response.data["matches"]] == [f"{place}/docs/sub/b.md"]


@pytest.mark.parametrize(
    ("tool", "arguments"),
    [
        ("write_file", {"path": "DOCS/new.txt", "content": "x"}),
        ("write_file", {"path": "DOCS/a.txt", "content": "x"}),
        ("edit_file", {"path": "DOCS/a.txt", "old_string": "needle", "new_string": "x"}),
        ("apply_patch", {"patch": "*** Begin Patch\n*** Delete File: DOCS/a.txt\n*** End Patch\n"}),
    ],
)
async def test_nothing_is_written_there_by_a_tool(place: Path, tool: str, arguments: dict[str, str]) -> None:
    docs = str(place / "docs")
    given = {name: value.replace("DOCS", docs) for name, value in arguments.items()}
    async with opened(place, AutoApprover(allow=True)) as toolset:
        await toolset.handle(call("read_file", {"path": f"{docs}/a.txt"}))
        result = await toolset.handle(call(tool, given))
    assert code_of(result) == "ACCESS_DENIED", result.output
    assert (place / "docs" / "a.txt").read_text() == "needle in docs\n"
    assert not (place / "docs" / "new.txt").exists()


@pytest.mark.parametrize("sandbox", LAYERS)
@pytest.mark.parametrize("access", ["read", "write", "full"])
async def test_commands_read_there_and_write_nothing(place: Path, access: str, sandbox: str) -> None:
    docs = place / "docs"
    async with opened(place, AutoApprover(allow=True), sandbox=sandbox) as toolset:
        read = await toolset.handle(call("Bash", {"command": f"cat {docs}/sub/b.md", "access": access}))
        changes = f"echo x > {docs}/new.txt; echo x >> {docs}/a.txt; rm {docs}/a.txt; mv {docs}/sub {docs}/s; true"
        await toolset.handle(call("Bash", {"command": changes, "access": access}))
    assert "needle below" in read.output
    assert sorted(os.listdir(docs)) == [".env", "a.txt", "far.txt", "near.txt", "out", "sub", "vault"]
    assert (docs / "a.txt").read_text() == "needle in docs\n"


async def test_a_directory_that_is_also_writable_with_full_access_stays_read_only(place: Path) -> None:
    async with opened(place, AutoApprover(allow=True), sandbox="bwrap", roots=(str(place / "docs"),)) as toolset:
        await toolset.handle(call("Bash", {"command": f"echo x > {place}/docs/new.txt", "access": "full"}))
    assert not (place / "docs" / "new.txt").exists()


SHOWS_SECRETS: list[tuple[str, dict[str, str]]] = [
    ("read_file", {"path": "DOCS/.env"}),
    ("read_file", {"path": "DOCS/sub/../.env"}),
    ("grep", {"pattern": "TOKEN", "path": "DOCS/.env"}),
    ("Bash", {"command": "cat DOCS/.env"}),
    ("Bash", {"command": "cd DOCS && cat .env"}),
]


@pytest.mark.parametrize(("tool", "arguments"), SHOWS_SECRETS)
async def test_a_secret_file_there_asks_first(place: Path, tool: str, arguments: dict[str, str]) -> None:
    given = {name: value.replace("DOCS", str(place / "docs")) for name, value in arguments.items()}
    for allow in (False, True):
        approver = AutoApprover(allow=allow)
        async with opened(place, approver) as toolset:
            result = await toolset.handle(call(tool, given))
        assert len(approver.requests) == 1
        assert f"{place}/docs/.env" in approver.requests[0].detail
        assert (SECRET in shown(result)) is allow


@pytest.mark.parametrize("sandbox", LAYERS)
async def test_a_command_that_does_not_name_a_secret_file_cannot_read_it(place: Path, sandbox: str) -> None:
    async with opened(place, AutoApprover(allow=True), sandbox=sandbox) as toolset:
        command = f"x=.en; find {place}/docs -type f -exec cat {{}} +; cat {place}/docs/${{x}}v; true"
        result = await toolset.handle(call("Bash", {"command": command, "access": "read"}))
        searched = await toolset.handle(call("grep", {"pattern": "TOKEN", "path": f"{place}/docs"}))
    assert "needle below" in result.output
    assert f"TOKEN={SECRET}" not in shown(result)
    assert SECRET not in shown(searched)


@pytest.mark.parametrize(
    ("tool", "arguments"),
    [
        ("read_file", {"path": "DOCS/vault/c.txt"}),
        ("read_file", {"path": "DOCS/sub/../vault/c.txt"}),
        ("grep", {"pattern": "needle", "path": "DOCS/vault"}),
        ("grep", {"pattern": "needle", "path": "DOCS"}),
        ("ls", {"path": "DOCS/vault"}),
        ("glob", {"pattern": "**/*.txt", "path": "DOCS"}),
        ("Bash", {"command": "cat DOCS/vault/c.txt; cat DOCS/vault/*; true"}),
    ],
)
@pytest.mark.parametrize("sandbox", LAYERS)
async def test_a_rule_that_denies_holds_there(place: Path, tool: str, arguments: dict[str, str], sandbox: str) -> None:
    given = {name: value.replace("DOCS", str(place / "docs")) for name, value in arguments.items()}
    async with opened(place, AutoApprover(allow=True), DENY, sandbox=sandbox) as toolset:
        if tool == "Bash":
            given["access"] = "read"
        result = await toolset.handle(call(tool, given))
    assert SECRET not in shown(result)
    assert "c.txt" not in result.response.to_json().replace("vault/c.txt", "", 2) or tool in ("Bash", "read_file")


async def test_a_rule_about_one_tool_holds_there(place: Path) -> None:
    rule = '[[rule]]\ntool = "grep"\nargs = { path = "sub/**" }\ndecision = "deny"\n'
    async with opened(place, None, rule) as toolset:
        denied = await toolset.handle(call("grep", {"pattern": "needle", "path": f"{place}/docs/sub"}))
        control = await toolset.handle(call("ls", {"path": f"{place}/docs/sub"}))
    assert code_of(denied) == "APPROVAL_DENIED", denied.output
    assert not control.is_error


@pytest.mark.parametrize("path", ["out/d.txt", "far.txt", "../private/d.txt", "sub/../../private/d.txt"])
async def test_links_and_paths_out_of_it_lead_nowhere(place: Path, path: str) -> None:
    async with opened(place) as toolset:
        result = await toolset.handle(call("read_file", {"path": f"{place}/docs/{path}"}))
        found = await toolset.handle(call("grep", {"pattern": "needle", "path": f"{place}/docs/out"}))
        listed = await toolset.handle(call("glob", {"pattern": "*.txt", "path": f"{place}/docs"}))
        command = await toolset.handle(call("Bash", {"command": f"cat {place}/docs/{path}", "access": "read"}))
    assert (code_of(result), code_of(found)) == ("ACCESS_DENIED", "ACCESS_DENIED")
    assert command.response.data["exit_code"] == 1
    for one in (result, found, command):
        assert SECRET not in shown(one)
    assert f"{place}/docs/far.txt" not in listed.response.data["paths"]


def refusal(root: Path, *extra: str) -> str:
    try:
        settings = Settings.of(workspace={"extra": list(extra)})
        toolgate.ToolContext(workspace=toolgate.Workspace(root), settings=settings)
    except ConfigError as error:
        return str(error)
    raise AssertionError(f"{extra} was accepted")


def test_a_directory_that_cannot_be_one_is_refused_with_a_sentence(
    place: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    root = place / "root"
    assert "is the project root itself" in refusal(root, str(root))
    assert "contains the project root" in refusal(root, str(place / "docs"), str(place))
    assert "is a directory of the system" in refusal(root, "/")
    (root / "sub").mkdir()
    assert "is inside the project root" in refusal(root, str(root / "sub"))
    (place / "again").symlink_to(root)
    assert "is the project root itself" in refusal(root, str(place / "again"))
    monkeypatch.setenv("HOME", str(place / "docs" / "sub"))
    assert "contains your home directory" in refusal(root, str(place / "docs"))
    for path in (str(place / "none"), "docs", str(place / "docs" / "a.txt")):
        assert "is not the absolute path of a directory" in refusal(root, path)
    assert "is a directory of the system" in refusal(root, "/proc/self")


async def test_a_stack_does_not_start_with_one(place: Path) -> None:
    settings = Settings.of(
        workspace={"root": place / "root", "extra": [str(place)]}, database={"url": f"sqlite:///{place}/db"}
    )
    with pytest.raises(ConfigError, match="contains the project root"):
        async with assemble(settings, model=OfflineModel()):
            pass
    assert not (place / "db").exists()


def test_the_variable_is_split_at_commas(place: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("TOOLGATE_WORKSPACE_EXTRA", f"{place}/docs, {place}/private")
    assert Settings().workspace.extra == (f"{place}/docs", f"{place}/private")


def test_a_path_is_held_by_the_directory_that_it_lies_in(place: Path) -> None:
    with Workspace(place / "root") as workspace:
        open_extra(workspace, [str(place / "docs")])

        assert workspace.for_path(str(place / "docs" / "a.txt")) is workspace.extra[0]
        assert workspace.for_path("a.txt") is workspace
        assert workspace.for_path(str(place / "root" / "a.txt")) is workspace
        (place / "docs").rename(place / "gone")
        with pytest.raises(ToolError):
            workspace.for_path(str(place / "docs" / "a.txt"))
