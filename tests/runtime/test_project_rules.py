"""Rules for a project: blocks in the user's own policy file, and nothing else in it changes."""

import asyncio
import stat
from pathlib import Path
from typing import Any

import pytest

from tests.kit import call, code_of
from toolgate import Approval, ApprovalRequest, PolicyError, ToolContext, ToolMode, Workspace, builtin_registry
from toolgate.runtime.policy.load import read_user_file
from toolgate.runtime.project_rules import add_rule, can_remember_for_project, project_rules, remove_rule
from toolgate.settings import Settings

MINE = '# my rules\n[[rule]]  # careful\ntool = "Bash"\nwords = ["git", "push"]\ndecision = "deny"\n'
RULE = '[[rule]]\ntool = "edit_file"\nargs = { path = "src/**" }\ndecision = "allow"\nproject = "/home/me/shop"'


class Picks:
    """Allows, and has one of the choices remembered."""

    def __init__(self, **answer: Any) -> None:
        self.requests: list[ApprovalRequest] = []
        self._answer = Approval(allowed=True, remember=True, **answer)

    async def decide(self, request: ApprovalRequest) -> Approval:
        self.requests.append(request)
        return self._answer


def context_of(tmp_path: Path, approver: Any, file: Path | None) -> ToolContext:
    root = tmp_path / "root"
    root.mkdir(exist_ok=True)
    settings = Settings.defaults().model_copy(update={"policy_file": file})
    context = ToolContext(workspace=Workspace(root), mode=ToolMode.coding, approver=approver, settings=settings)
    context.remembers_for_project = True
    return context


def test_a_rule_is_added_and_everything_else_stays(tmp_path: Path) -> None:
    file = tmp_path / "policy.toml"
    file.write_text(MINE)
    file.chmod(0o644)
    add_rule(file, "edits in src", RULE)
    assert file.read_text().startswith(f"{MINE}\n# Remembered ")
    assert file.read_text().endswith(f": edits in src\n{RULE}\n")
    assert stat.S_IMODE(file.stat().st_mode) == 0o600
    assert [rule.tool for rule in read_user_file(file).rules] == ["Bash", "edit_file"]
    add_rule(file, "edits in src", RULE)
    assert len(project_rules(file, "/home/me/shop")) == 1


def test_a_rule_is_listed_for_its_project_and_taken_back(tmp_path: Path) -> None:
    file = tmp_path / "policy.toml"
    file.write_text(MINE)
    add_rule(file, "edits in src", RULE)
    (found,) = project_rules(file, "/home/me/shop")
    assert (found.label, found.rule) == ("edits in src", RULE)
    assert project_rules(file, "/home/me/other") == []
    assert not remove_rule(file, "/home/me/other", found.id)
    assert remove_rule(file, "/home/me/shop", found.id)
    assert file.read_text() == MINE
    assert not remove_rule(file, "/home/me/shop", found.id)


def test_what_somebody_has_edited_is_theirs(tmp_path: Path) -> None:
    file = tmp_path / "policy.toml"
    add_rule(file, "edits in src", RULE)
    file.write_text(file.read_text().replace('project = "/home/me/shop"\n', ""))
    assert project_rules(file, "/home/me/shop") == []


@pytest.mark.parametrize("text", ["not TOML [", '[[rule]]\ntool = "Bash"\n'])
def test_a_file_with_a_mistake_is_left_as_it_is(tmp_path: Path, text: str) -> None:
    file = tmp_path / "policy.toml"
    file.write_text(text)
    with pytest.raises(PolicyError):
        add_rule(file, "edits in src", RULE)
    assert file.read_text() == text


@pytest.mark.parametrize(
    "label",
    [
        'edits to a\n[[rule]]\ntool = "Bash"\ndecision = "allow"\n#',
        "edits to a\r\n[unmatched]\r\nBash = 'ask'\r\n#",
        "edits to \x1b[2J\u202e\x00\u2028a",
    ],
)
def test_a_label_adds_nothing_but_a_comment(tmp_path: Path, label: str) -> None:
    """A file may have a name like this, and a model may have made it."""
    file = tmp_path / "policy.toml"
    file.write_bytes(b"\xef\xbb\xbf# mine\r\n" + MINE.encode() + b"# end, without a line end")
    before = file.read_bytes()
    add_rule(file, label, RULE)

    assert file.read_bytes().startswith(before)
    document = read_user_file(file)
    assert ([rule.tool for rule in document.rules], dict(document.unmatched)) == (["Bash", "edit_file"], {})
    (kept,) = project_rules(file, "/home/me/shop")
    assert remove_rule(file, "/home/me/shop", kept.id)
    assert file.read_bytes() == before + b"\n"


async def test_a_file_name_adds_no_rule_to_the_users_policy(tmp_path: Path) -> None:
    file = tmp_path / "policy.toml"
    file.write_text("# mine\n")
    name = 'src/a\n[[rule]]\ntool = "Bash"\ndecision = "allow"\n#.txt'
    context = context_of(tmp_path, Picks(choice="file", scope="project"), file)
    toolset = builtin_registry().toolset(ToolMode.coding, context)
    result = await toolset.call("write_file", path=name, content="x\n")

    assert not result.is_error
    assert [rule.tool for rule in read_user_file(file).rules] != []
    assert "Bash" not in {rule.tool for rule in read_user_file(file).rules}
    await context.aclose()


def test_a_rule_that_would_change_others_is_not_added(tmp_path: Path) -> None:
    file = tmp_path / "policy.toml"
    file.write_text(MINE)
    with pytest.raises(PolicyError):
        add_rule(file, "edits", f"{RULE}\n[unmatched]\nBash = 'ask'")
    assert file.read_text() == MINE


def test_a_link_to_the_file_stays_a_link(tmp_path: Path) -> None:
    target, link = tmp_path / "dotfiles.toml", tmp_path / "policy.toml"
    target.write_text(MINE)
    link.symlink_to(target)
    add_rule(link, "edits in src", RULE)
    assert link.is_symlink()
    assert RULE in target.read_text()


def test_the_projects_own_file_is_never_written(tmp_path: Path) -> None:
    workspace = Workspace(tmp_path)
    (tmp_path / "outside.toml").parent.mkdir(exist_ok=True)
    assert not can_remember_for_project(tmp_path / ".toolgate/policy.toml", workspace)
    assert not can_remember_for_project(None, workspace)
    assert can_remember_for_project(tmp_path.parent / "policy.toml", workspace)


async def test_what_is_remembered_for_the_project_counts_at_once_and_in_the_next_session(tmp_path: Path) -> None:
    file, approver = tmp_path / "user/policy.toml", Picks(choice="folder", scope="project")
    context = context_of(tmp_path, approver, None)
    context = context_of(tmp_path, approver, file_with(file, ""))
    tools = builtin_registry().toolset(ToolMode.coding, context)
    for number in range(3):
        arguments = {"path": f"src/{number}.txt", "content": "x"}
        assert code_of(await tools.handle(call("write_file", arguments))) is None
    assert len(approver.requests) == 1
    later = builtin_registry().toolset(ToolMode.coding, context_of(tmp_path, None, file))
    assert code_of(await later.handle(call("write_file", {"path": "src/9.txt", "content": "x"}))) is None
    assert code_of(await later.handle(call("write_file", {"path": "b.txt", "content": "x"}))) == "APPROVAL_DENIED"
    elsewhere = tmp_path / "elsewhere"
    elsewhere.mkdir()
    other = builtin_registry().toolset(ToolMode.coding, context_of(elsewhere, None, file))
    assert code_of(await other.handle(call("write_file", {"path": "src/9.txt", "content": "x"}))) == "APPROVAL_DENIED"


def file_with(file: Path, text: str) -> Path:
    file.parent.mkdir(exist_ok=True)
    file.write_text(text)
    return file


async def test_a_rule_that_cannot_be_saved_refuses_the_call_with_the_reason(tmp_path: Path) -> None:
    file, approver = file_with(tmp_path / "policy.toml", MINE), Picks(choice="file", scope="project")
    tools = builtin_registry().toolset(ToolMode.coding, context_of(tmp_path, approver, file))
    explained = await tools.explain(call("write_file", {"path": "a.txt", "content": "x"}))
    assert explained.decision == "ask"
    file.write_text("not TOML [")
    result = await tools.handle(call("write_file", {"path": "a.txt", "content": "x"}))
    assert code_of(result) == "APPROVAL_DENIED"
    assert "not TOML" in result.message
    assert not (tmp_path / "root/a.txt").exists()


@pytest.mark.parametrize(
    "answer", [{"choice": "prefix"}, {"choice": "command"}, {"choice": "file", "scope": "project"}]
)
async def test_a_choice_that_was_not_offered_is_a_no(tmp_path: Path, answer: dict[str, Any]) -> None:
    approver = Picks(**answer)
    context = context_of(tmp_path, approver, None)
    result = (
        await builtin_registry()
        .toolset(ToolMode.coding, context)
        .handle(call("write_file", {"path": "a.txt", "content": "x"}))
    )
    assert (code_of(result), "not offered" in result.message) == ("APPROVAL_DENIED", True)


async def test_a_folder_remembered_for_the_session_is_asked_about_once(tmp_path: Path) -> None:
    approver = Picks(choice="folder")
    tools = builtin_registry().toolset(ToolMode.coding, context_of(tmp_path, approver, None))
    for path in ("src/a.txt", "src/sub/b.txt", "src/c.txt"):
        assert code_of(await tools.handle(call("write_file", {"path": path, "content": "x"}))) is None
    edit = {"path": "src/a.txt", "old_string": "x", "new_string": "y"}
    assert code_of(await tools.handle(call("edit_file", edit))) is None
    assert len(approver.requests) == 1
    decision = await tools.explain(call("edit_file", {**edit, "old_string": "y", "new_string": "z"}))
    assert decision.rule.startswith("session rule ")
    await asyncio.sleep(0)
    assert code_of(await tools.handle(call("write_file", {"path": "other/a.txt", "content": "x"}))) is None
    assert len(approver.requests) == 2
