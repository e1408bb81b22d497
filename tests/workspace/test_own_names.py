"""The runtime's own files that lie in the project, or have a name there: no tool and no command reads them."""

import asyncio
import json
import os
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import pytest

import toolgate
from toolgate.settings import Settings
from toolgate.testing import AutoApprover
from toolgate.workspace.file_guard import FileGuard
from toolgate.workspace.own_names import OWN_FILE, OwnFiles
from toolgate.workspace.secret_scan import SecretScan

CANARY = "0123456789abcdef0123456789abcdef"
OWN = ["policy.toml", "mcp.json", "tokens", "key.pem", "agent.db", "mine/hooks.json", "mine/mcp-approvals.json"]
DATA = ["data/gateway-token", "data/gateway-address", "data/other"]


def settings_of(root: Path) -> Settings:
    return Settings.of(
        policy_file=root / "policy.toml",
        mcp_config=root / "mcp.json",
        user_directory=root / "mine",
        data_directory=root / "data",
        gateway={"token_file": root / "tokens", "tls_cert": root / "cert.pem", "tls_key": root / "key.pem"},
        database={"url": f"sqlite:///{root}/agent.db"},
    )


def fill(root: Path) -> None:
    for name in (*OWN, *DATA, "mine/skills/own/SKILL.md"):
        (root / name).parent.mkdir(parents=True, exist_ok=True)
        (root / name).write_text(f"# {CANARY}\n")
    (root / "mine/hooks.json").write_text(json.dumps({"hooks": {}, "note": CANARY}))


@contextmanager
def nothing_changes(root: Path) -> Iterator[None]:
    before = {path: path.read_bytes() for path in root.rglob("*") if path.is_file()}
    yield
    assert {path: path.read_bytes() for path in before} == before


def called(root: Path, settings: Settings, *calls: tuple[str, dict[str, object]]) -> list[toolgate.ToolResult]:
    async def script() -> list[toolgate.ToolResult]:
        async with toolgate.ToolContext(
            workspace=toolgate.Workspace(root),
            mode=toolgate.ToolMode.coding,
            settings=settings,
            approver=AutoApprover(),
            approval_mode=toolgate.ApprovalMode.accept_edits,
        ) as context:
            toolset = toolgate.builtin_registry().toolset(toolgate.ToolMode.coding, context)
            return [await toolset.call(name, **arguments) for name, arguments in calls]

    return asyncio.run(script())


@pytest.mark.parametrize("path", [*OWN, *DATA, "POLICY.toml", "mine/../tokens", "soft", "way/tokens", "hard"])
def test_f17_own_files_in_the_project_are_not_read_even_if_a_person_allows_it(tmp_path: Path, path: str) -> None:
    fill(tmp_path)
    (tmp_path / "soft").symlink_to("tokens")
    (tmp_path / "way").symlink_to(".")
    os.link(tmp_path / "tokens", tmp_path / "hard")
    if path.startswith("POLICY"):
        (tmp_path / path).write_text(CANARY)

    with nothing_changes(tmp_path):
        read, written, grepped = called(
            tmp_path,
            settings_of(tmp_path),
            ("read_file", {"path": path}),
            ("write_file", {"path": path, "content": "evil\n"}),
            ("grep", {"pattern": "0123456789abcdef|note", "path": path}),
        )

    assert (read.error_code, written.error_code) == ("ACCESS_DENIED", "ACCESS_DENIED")
    assert CANARY not in read.output + grepped.output


def test_f17_no_search_and_no_command_shows_or_writes_own_files(tmp_path: Path) -> None:
    fill(tmp_path)
    os.link(tmp_path / "tokens", tmp_path / "hard")
    (tmp_path / "soft").symlink_to("hard")
    with nothing_changes(tmp_path):
        results = called(
            tmp_path,
            settings_of(tmp_path),
            ("grep", {"pattern": "0123456789abcdef|note", "include_ignored": True}),
            ("Bash", {"command": "cat * data/* mine/*; true", "access": "read"}),
            ("Bash", {"command": "for f in hard soft tokens data/* mine/*; do echo evil >> $f; cat $f; done; true"}),
        )

    assert [result.is_error for result in results] == [False] * 3
    assert CANARY not in "".join(result.output for result in results[1:])
    assert {match["file"] for match in results[0].response.data["matches"]} == {"mine/skills/own/SKILL.md"}


@pytest.mark.parametrize("tool", ["read_file", "Bash", "write_file"])
def test_f17_a_hard_link_in_the_project_to_an_own_file_outside_is_that_file(tmp_path: Path, tool: str) -> None:
    elsewhere, root = tmp_path / "elsewhere", tmp_path / "root"
    root.mkdir()
    fill(elsewhere)
    os.link(elsewhere / "data/gateway-token", root / "notes.txt")
    arguments: dict[str, dict[str, object]] = {
        "read_file": {"path": "notes.txt"},
        "write_file": {"path": "notes.txt", "content": "evil\n"},
        "Bash": {"command": "cat notes.txt; echo evil >> notes.txt"},
    }

    with nothing_changes(tmp_path):
        (result,) = called(root, settings_of(elsewhere), (tool, arguments[tool]))

    assert CANARY not in result.output
    assert tool == "Bash" or result.error_code == "ACCESS_DENIED"


def test_f17_own_files_in_a_further_directory_are_not_read(tmp_path: Path) -> None:
    root, extra = tmp_path / "root", tmp_path / "extra"
    root.mkdir()
    fill(extra)
    settings = settings_of(extra).model_copy(update={"workspace": {"root": root, "extra": (str(extra),)}})

    reads: list[tuple[str, dict[str, object]]] = [("read_file", {"path": f"{extra}/{name}"}) for name in (*OWN, *DATA)]
    results = called(
        root,
        settings,
        *reads,
        ("grep", {"pattern": "0123456789abcdef", "path": str(extra)}),
    )

    assert [result.error_code for result in results[:-1]] == ["ACCESS_DENIED"] * len([*OWN, *DATA])
    assert {match["file"] for match in results[-1].response.data["matches"]} == {f"{extra}/mine/skills/own/SKILL.md"}


def test_f17_control_other_files_are_read_and_written(tmp_path: Path) -> None:
    fill(tmp_path)
    (tmp_path / "tokens.md").write_text("ordinary\n")
    os.link(tmp_path / "tokens.md", tmp_path / "linked.md")

    results = called(
        tmp_path,
        settings_of(tmp_path),
        ("read_file", {"path": "mine/skills/own/SKILL.md"}),
        ("read_file", {"path": "tokens.md"}),
        ("read_file", {"path": "linked.md"}),
        ("write_file", {"path": "tokens.md", "content": "new\n"}),
        ("Bash", {"command": "cat linked.md"}),
    )

    assert [result.is_error for result in results] == [False] * 5


def test_only_files_with_several_names_are_looked_for_by_what_they_are(tmp_path: Path) -> None:
    for name in ("one", "two"):
        (tmp_path / name).write_text("x")
    os.link(tmp_path / "two", tmp_path / "also")
    own = OwnFiles().joined([str(tmp_path / name) for name in ("one", "two", "missing", "")], ["one", "two"])

    info = (tmp_path / "two").stat()
    assert own.linked() == {(info.st_dev, info.st_ino)}
    assert own.joined(own.paths, ["one"]) == own


def test_what_a_file_held_before_an_edit_is_not_read_from_the_journal(tmp_path: Path) -> None:
    """A person was asked about the file, in another session perhaps, and not about what is kept of it."""
    root, extra = tmp_path / "root", tmp_path / "extra"
    images = [place / ".toolgate/journal/images/x" for place in (root / "sub", extra, extra / "sub")]
    for path in images:
        path.parent.mkdir(parents=True)
        path.write_text(CANARY)
    (root / ".env").write_text(f"KEY={CANARY}\n")
    (root / "way").symlink_to(".toolgate")
    settings = Settings.of(workspace={"root": root, "extra": (str(extra),)})
    edit = {"path": ".env", "old_string": "KEY", "new_string": "NAME"}
    called(root, settings, ("read_file", {"path": ".env"}), ("edit_file", {**edit}))
    (image,) = (root / ".toolgate/journal/images").iterdir()
    assert CANARY in image.read_text()
    paths = [str(image.relative_to(root)), f"way/journal/images/{image.name}", "sub/.toolgate/journal/images/x"]
    paths += [str(path) for path in images[1:]]

    reads: list[tuple[str, dict[str, object]]] = [("read_file", {"path": path}) for path in paths]
    searches: list[tuple[str, dict[str, object]]] = [
        ("grep", {"pattern": "0123456789abcde.", "path": path, "include_ignored": True})
        for path in (*paths, ".toolgate", "way/journal", "sub", str(extra))
    ]
    results = called(root, settings, *reads, *searches, ("Bash", {"command": f"cat {' '.join(paths)}; true"}))

    assert [result.error_code for result in results[: len(paths)]] == ["ACCESS_DENIED"] * len(paths)
    assert CANARY not in "".join(result.output for result in results)


def test_a_script_in_the_users_directory_is_not_found_and_stops_no_command(tmp_path: Path) -> None:
    script = tmp_path / "mine/skills/own/run.sh"
    script.parent.mkdir(parents=True)
    script.write_text("echo ran; rm -rf nothing\n")
    (tmp_path / ".env").write_text("KEY=1\n")

    results = called(
        tmp_path,
        settings_of(tmp_path).model_copy(update={"policy_file": None}),
        ("Bash", {"command": "sh mine/skills/own/run.sh; echo ended"}),
        ("Bash", {"command": "cat mine/x .env; echo ended"}),
        ("Bash", {"command": "sh mine/skills/own/run.sh .env"}),
    )

    assert [result.error_code for result in results] == [None] * 3
    assert "bwrap" not in "".join(result.output for result in results)
    assert ["ended" in result.output for result in results[:2]] == [True] * 2


def test_the_project_is_not_searched_for_each_path_because_own_files_are_in_it(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    (tmp_path / "Tokens").write_text(CANARY)
    (tmp_path / "plain").write_text("plain")
    monkeypatch.delattr(SecretScan, "find")  # if the project is a home directory, that takes long
    with toolgate.Workspace(tmp_path) as workspace:
        workspace.protect_own([], [str(tmp_path / "tokens")])
        guard = FileGuard(workspace)
        assert guard.denied_by("plain") is None
        assert guard.judge("plain") is None
        assert guard.denied_by("Tokens") == OWN_FILE
        assert guard.listed(["Tokens", "plain", "tokens/x", "tokens2"], ".") == ["plain", "tokens2"]
