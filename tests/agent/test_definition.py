"""Definitions of sub-agents."""

import os
from pathlib import Path

import pytest

from toolgate import ToolMode, Workspace, builtin_registry
from toolgate.agent import AgentDefinition, Agents, builtin_agents

HEAD = "---\nname: a\ndescription: Does things.\n"


def test_the_built_in_ones() -> None:
    agents = {agent.name: agent for agent in builtin_agents()}
    assert list(agents) == ["explore", "general"]
    assert agents["general"].tools is None
    registry = builtin_registry()
    for name in agents["explore"].tools or ():
        tool = registry.get(name)
        assert tool is not None
        assert tool.read_only
        assert registry.check_mode(name, ToolMode.coding)


@pytest.mark.parametrize(
    ("line", "tools"),
    [
        ("", None),
        ("tools:", None),
        ("tools: []", ()),
        ("tools: [ls, grep]", ("ls", "grep")),
        ("tools: ls, grep", ("ls", "grep")),
        ("tools: ['ls', \"grep\"]", ("ls", "grep")),
        ("tools:\n  - ls\n  - grep", ("ls", "grep")),
    ],
)
def test_forms_of_the_list_of_tools(line: str, tools: tuple[str, ...] | None) -> None:
    assert AgentDefinition.parse(f"{HEAD}{line}\n---\nBe.\n").tools == tools


def test_a_whole_definition() -> None:
    lines = [
        "\ufeff---",
        "# mine",
        'name: "reviewer"',
        "description: Reviews: well.",
        "model: big",
        "---",
        "",
        "You",
        "review.",
    ]
    assert AgentDefinition.parse("\r\n".join(lines)) == AgentDefinition(
        name="reviewer", description="Reviews: well.", model="big", prompt="You\nreview."
    )


@pytest.mark.parametrize(
    "text",
    [
        "",
        "no front matter",
        "---\nname: a\n",
        "---\nname: a\n---\nBe.",
        f"{HEAD}---\n",
        f"{HEAD}color: red\n---\nBe.",
        f"{HEAD}name: b\n---\nBe.",
        f"{HEAD}- item\n---\nBe.",
        "---\nname: ../etc\ndescription: d\n---\nBe.",
        "---\nname: Upper\ndescription: d\n---\nBe.",
    ],
)
def test_what_is_no_definition(text: str) -> None:
    with pytest.raises(ValueError, match=r"."):
        AgentDefinition.parse(text)


def test_the_projects_own_replace_and_add_and_broken_ones_are_named(
    tmp_path: Path, caplog: pytest.LogCaptureFixture
) -> None:
    folder = tmp_path / ".toolgate" / "agents"
    folder.mkdir(parents=True)
    (folder / "mine.md").write_text(f"{HEAD}---\nBe.")
    (folder / "explore.md").write_text("---\nname: explore\ndescription: Mine.\n---\nBe.")
    (folder / "bad.md").write_text("nothing")
    (folder / "huge.md").write_text("x" * 70_000)
    (folder / "latin.md").write_bytes(b"---\nname: \xff\n")
    (folder / "notes.txt").write_text("no")
    agents = Agents(Workspace(tmp_path))
    assert [(agent.name, agent.description) for agent in agents.all()] == [
        ("a", "Does things."),
        ("explore", "Mine."),
        ("general", "does a self-contained piece of work with the same means as you."),
    ]
    assert [name for name in ("bad.md", "huge.md", "latin.md", "notes.txt") if name in caplog.text] == [
        "bad.md",
        "huge.md",
        "latin.md",
    ]


def test_a_folder_that_is_a_link_out_of_the_project_is_not_followed(tmp_path: Path) -> None:
    outside, root = tmp_path / "outside", tmp_path / "root"
    outside.mkdir()
    (outside / "evil.md").write_text("---\nname: evil\ndescription: d\n---\nBe.")
    (root / ".toolgate").mkdir(parents=True)
    (root / ".toolgate" / "agents").symlink_to(outside)
    assert Agents(Workspace(root)).get("evil") is None


def test_a_broken_definition_is_complained_about_once(tmp_path: Path, caplog: pytest.LogCaptureFixture) -> None:
    folder = tmp_path / ".toolgate" / "agents"
    folder.mkdir(parents=True)
    (folder / "bad.md").write_bytes(b"\xff\xfe")
    agents = Agents(Workspace(tmp_path))
    for _ in range(3):
        assert [agent.name for agent in agents.all()] == ["explore", "general"]
    (folder / "bad.md").write_text("no front matter")
    agents.all()
    assert [record.getMessage().split()[0] for record in caplog.records] == ["agent_definition_ignored"] * 2


@pytest.mark.parametrize("tools", ["tools: [write_file, Bash, read_file]", "model: another"])
def test_a_project_cannot_widen_a_built_in_agent(tmp_path: Path, tools: str) -> None:
    (tmp_path / ".toolgate/agents").mkdir(parents=True)
    (tmp_path / ".toolgate/agents/e.md").write_text(f"---\nname: explore\ndescription: mine\n{tools}\n---\nMine.")
    before = Agents().get("explore")
    explore = Agents(Workspace(tmp_path)).get("explore")

    assert before is not None
    assert before.tools is not None
    assert explore is not None
    assert explore.tools is not None
    assert (explore.prompt, set(explore.tools) <= set(before.tools)) == ("Mine.", True)


def test_a_definition_that_is_another_name_of_a_secret_file_is_none(tmp_path: Path) -> None:
    folder = tmp_path / ".toolgate" / "agents"
    folder.mkdir(parents=True)
    (folder / "a.md").write_text(f"{HEAD}---\nKEY=1")
    os.link(folder / "a.md", tmp_path / ".env")

    assert Agents(Workspace(tmp_path)).get("a") is None
