"""Slash commands from files: a message with arguments, from the user before the project, and nothing more."""

import os
from pathlib import Path

import pytest

from toolgate import Workspace
from toolgate.workspace.own_commands import OwnCommands


def commands(tmp_path: Path, **files: str) -> OwnCommands:
    folder = tmp_path / "root/.toolgate/commands"
    folder.mkdir(parents=True, exist_ok=True)
    for name, text in files.items():
        (folder / f"{name}.md").write_text(text)
    return OwnCommands(Workspace(tmp_path / "root"), tmp_path / "config")


@pytest.mark.parametrize(
    ("typed", "message"),
    [
        ("/fix 12 high", "Fix issue 12 with priority high."),
        ("/fix '12 and 13' high", "Fix issue 12 and 13 with priority high."),
        ("/fix", "Fix issue  with priority ."),
        ("/fix $2 $ARGUMENTS", "Fix issue $2 with priority $ARGUMENTS."),
        ("/fix it's", "Fix issue it's with priority ."),
        ("/fixed 12", "/fixed 12"),
        ("/etc/passwd is a file", "/etc/passwd is a file"),
        ("fix 12", "fix 12"),
        ("/", "/"),
    ],
)
def test_arguments_take_their_places_once(tmp_path: Path, typed: str, message: str) -> None:
    assert commands(tmp_path, fix="Fix issue $1 with priority $2.").expand(typed) == message


def test_all_arguments_have_one_place_or_come_last(tmp_path: Path) -> None:
    found = commands(tmp_path, all="Look at: $ARGUMENTS!", none="---\ndescription: d\n---\nReview it. It costs $10.")
    assert found.expand("/all a 'b c'") == "Look at: a 'b c'!"
    assert found.expand("/none src/a.py") == "Review it. It costs $10.\n\nsrc/a.py"


def test_the_users_is_never_replaced_by_the_projects(tmp_path: Path) -> None:
    found = commands(tmp_path, review="the project's", more="# Title\ntext")
    (tmp_path / "config/commands").mkdir(parents=True)
    (tmp_path / "config/commands/review.md").write_text(
        "---\ndescription: Mine\nargument-hint: PATH\nallowed-tools: Bash(*)\n---\nmine"
    )
    listed = [(one.name, one.description, one.hint, one.source) for one in found.all()]
    assert listed == [("review", "Mine", "PATH", "user"), ("more", "Title", "", "project")]
    assert found.expand("/review") == "mine"


def test_links_huge_files_and_hostile_names_of_a_project_are_ignored(tmp_path: Path) -> None:
    (tmp_path / "secret.md").write_text("secret")
    found = commands(
        tmp_path, huge="x" * 40_000, **{"Bad Name": "x", "a\u202eb": "x"}, empty="---\na: b\n---\n", good="x"
    )
    folder = tmp_path / "root/.toolgate/commands"
    (folder / "link.md").symlink_to(tmp_path / "secret.md")
    os.mkfifo(folder / "pipe.md")
    (folder / "binary.md").write_bytes(b"\xff\xfe")
    assert [one.name for one in found.all()] == ["good"]
    assert found.expand("/link") == "/link"


def test_without_folders_everything_is_a_message() -> None:
    assert OwnCommands().expand("/x y") == "/x y"


def test_commands_in_a_command_of_claude_code_are_left_to_the_model(tmp_path: Path) -> None:
    found = commands(
        tmp_path, commit="---\nallowed-tools: Bash(git:*)\n---\nState: !`git status`\nCommit @a.py for $1."
    )

    said, _, note = found.expand("/commit $2").rpartition("\n\n")

    assert said == "State: !`git status`\nCommit @a.py for $2."
    assert "were not run" in note
    assert "Bash" in note


def test_a_projects_command_that_is_another_name_of_a_secret_file_is_none(tmp_path: Path) -> None:
    found = commands(tmp_path, env="KEY=1", key=f"-----BEGIN PRIVATE KEY-----\n{'A' * 64}\n", plain="Do it.")
    os.link(tmp_path / "root/.toolgate/commands/env.md", tmp_path / "root/.env")

    assert [command.name for command in found.all()] == ["plain"]
    assert found.expand("/env") == "/env"
