"""Skills: valid ones are found, and nothing leads out of a project's skill."""

import os
from pathlib import Path

import pytest

from toolgate import ToolError, Workspace
from toolgate.workspace.skills import Skills


def add(folder: Path, name: str, description: str = "Does it.", body: str = "# Steps", called: str = "") -> Path:
    place = folder / name
    place.mkdir(parents=True)
    (place / "SKILL.md").write_text(f"---\nname: {called or name}\ndescription: {description}\n---\n{body}\n")
    return place


@pytest.fixture
def project(tmp_path: Path) -> Path:
    root = tmp_path / "root"
    root.mkdir()
    return root


def skills(project: Path, user: Path | None = None) -> Skills:
    return Skills(Workspace(project), user)


def test_the_users_come_first_and_are_never_replaced(project: Path, tmp_path: Path) -> None:
    user = tmp_path / "config"
    add(user / "skills", "deploy", "Mine.", "my steps")
    add(project / ".toolgate/skills", "deploy", "The project's.", "other steps")
    add(project / ".claude/skills", "review", "Reviews.")
    add(project / ".agents/skills", "tidy", "Tidies.")
    found = skills(project, user)
    assert [(skill.name, skill.source) for skill in found.all()] == [
        ("deploy", "user"),
        ("tidy", "project"),
        ("review", "project"),
    ]
    assert found.read("deploy")[1] == "my steps"


def test_a_skill_has_a_body_and_files_beside_it(project: Path) -> None:
    place = add(project / ".toolgate/skills", "pdf", body="Read reference.md")
    (place / "reference.md").write_text("more")
    (place / "scripts").mkdir()
    (place / "scripts/run.py").write_text("print(1)")
    skill, text, files = skills(project).read("pdf")
    assert (skill.path, text, files) == (
        ".toolgate/skills/pdf",
        "Read reference.md",
        ["reference.md", "scripts/run.py"],
    )
    assert skills(project).read("pdf", "scripts/run.py")[1] == "print(1)"


@pytest.mark.parametrize(
    "name", ["Deploy", "a_b", "-a", "a--b", "a-", "x" * 65, "a b", "a\u202eb", "..", "a.b", "a\nb"]
)
def test_a_hostile_name_is_ignored(project: Path, name: str) -> None:
    if name != "..":
        add(project / ".toolgate/skills", name)
    assert skills(project).all() == []
    with pytest.raises(ToolError, match="There is no skill"):
        skills(project).read(name)


def test_the_name_must_be_that_of_the_folder(project: Path) -> None:
    add(project / ".toolgate/skills", "one", called="two")
    assert skills(project).all() == []


def test_links_out_of_a_projects_skill_lead_nowhere(project: Path, tmp_path: Path) -> None:
    secret = tmp_path / "secret.md"
    secret.write_text("---\nname: stolen\ndescription: d\n---\nthe secret\n")
    folder = project / ".toolgate/skills"
    (folder / "stolen").mkdir(parents=True)
    (folder / "stolen/SKILL.md").symlink_to(secret)
    outside = add(tmp_path / "elsewhere", "linked")
    (folder / "linked").symlink_to(outside)
    place = add(folder, "files")
    (place / "link.md").symlink_to(secret)
    (place / "down").symlink_to(tmp_path)
    found = skills(project)
    assert [skill.name for skill in found.all()] == ["files"]
    assert found.read("files")[2] == []
    for path in ("link.md", "down/secret.md", "../../../../secret.md", str(secret), "down/../x", "./link.md", "a//b"):
        with pytest.raises(ToolError):
            found.read("files", path)
    for name in ("stolen", "linked"):
        with pytest.raises(ToolError, match="There is no skill"):
            found.read(name)


def test_a_linked_folder_of_the_project_that_leads_outside_is_no_folder(project: Path, tmp_path: Path) -> None:
    add(tmp_path / "elsewhere", "linked")
    (project / ".toolgate").mkdir()
    (project / ".toolgate/skills").symlink_to(tmp_path / "elsewhere")
    assert skills(project).all() == []


def test_the_users_own_skill_may_be_a_link(project: Path, tmp_path: Path) -> None:
    place = add(tmp_path / "dotfiles", "mine")
    (tmp_path / "config/skills").mkdir(parents=True)
    (tmp_path / "config/skills/mine").symlink_to(place)
    assert [skill.name for skill in skills(project, tmp_path / "config").all()] == ["mine"]


def test_huge_odd_and_broken_files_are_ignored_and_said_once(project: Path, caplog: pytest.LogCaptureFixture) -> None:
    folder = project / ".toolgate/skills"
    add(folder, "huge", body="x" * 200_000)
    (add(folder, "binary") / "SKILL.md").write_bytes(b"\xff\xfe\x00")
    add(folder, "long", description="d" * 1025)
    (folder / "pipe").mkdir()
    os.mkfifo(folder / "pipe/SKILL.md")
    (folder / "empty").mkdir()
    (folder / "file").write_text("no folder")
    add(folder, "good")
    found = skills(project)
    assert [skill.name for skill in found.all()] == ["good"]
    first = len([record for record in caplog.records if "skill_ignored" in record.getMessage()])
    found.all()
    again = len([record for record in caplog.records if "skill_ignored" in record.getMessage()])
    assert (first, again) == (4, 4)


def test_there_are_bounds(project: Path) -> None:
    for number in range(120):
        add(project / ".toolgate/skills", f"s{number}")
    place = project / ".toolgate/skills/s0"
    for number in range(80):
        (place / f"f{number}").write_text("")
    found = skills(project)
    assert len(found.all()) == 100
    assert len(found.read("s0")[2]) == 50


def test_without_folders_there_are_no_skills(project: Path, tmp_path: Path) -> None:
    assert skills(project, tmp_path / "nowhere").all() == []
    assert Skills().all() == []


def test_a_skill_of_claude_code_with_further_keys_and_without_a_name_is_taken(project: Path) -> None:
    place = project / ".claude/skills/release-notes"
    place.mkdir(parents=True)
    (place / "SKILL.md").write_text(
        "---\n"
        "description: >\n  Writes release notes\n  from commits.\n"
        "allowed-tools:\n  - Bash(git log:*)\n  - Read\n"
        "license: Apache-2.0\n"
        "metadata:\n  version: '1.0'\n  tags: [a, b]\n"
        "disable-model-invocation: true\n"
        "---\n\n# Steps\n"
    )
    [skill] = skills(project).all()

    assert (skill.name, skill.description) == ("release-notes", "Writes release notes from commits.")


SECRET = "KEY=0123456789abcdef0123456789abcdef"


@pytest.mark.parametrize("place", ["project", "user"])
@pytest.mark.parametrize("file", [".env", "./.env", "sub/.env", "sub/key.txt"])
def test_a_secret_file_of_a_skill_is_not_shown_because_nobody_is_asked(
    project: Path, tmp_path: Path, place: str, file: str
) -> None:
    own = tmp_path / "user"
    skill = add(project / ".claude/skills" if place == "project" else own / "skills", "pdf")
    (skill / "sub").mkdir()
    for name in (".env", "sub/.env"):
        (skill / name).write_text(SECRET)
    (skill / "sub/key.txt").write_text(f"-----BEGIN PRIVATE KEY-----\n{'A' * 64}\n")

    with pytest.raises(ToolError, match="may hold"):
        skills(project, own).read("pdf", file)


def test_a_skill_that_is_another_name_of_a_secret_file_is_none(project: Path) -> None:
    skill = add(project / ".claude/skills", "pdf", body=SECRET)
    os.link(skill / "SKILL.md", project / ".env")
    other = add(project / ".claude/skills", "other")
    (project / ".env.local").write_text(SECRET)
    os.link(project / ".env.local", other / "notes.md")

    found = skills(project)
    assert [one.name for one in found.all()] == ["other"]
    with pytest.raises(ToolError, match="may hold"):
        found.read("other", "notes.md")
