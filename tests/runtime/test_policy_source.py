"""When a policy is looked at: what is wrong with one stops a turn before it begins."""

from pathlib import Path

import pytest

from toolgate import PolicyError, ToolContext, Workspace
from toolgate.runtime.policy_source import check_policy, policy_of
from toolgate.settings import Settings


def _context(root: Path, users: Path | None) -> ToolContext:
    settings = Settings.defaults().model_copy(update={"policy_file": users})
    return ToolContext(workspace=Workspace(root), settings=settings)


@pytest.mark.parametrize("users", [True, False])
def test_an_unusable_file_is_refused_at_once(tmp_path: Path, *, users: bool) -> None:
    file = tmp_path / "users.toml" if users else tmp_path / ".toolgate" / "policy.toml"
    file.parent.mkdir(exist_ok=True)
    file.write_text("rule = 1")

    with pytest.raises(PolicyError, match="must be an array of tables"):
        check_policy(_context(tmp_path, tmp_path / "users.toml"))


def test_a_place_that_cannot_be_looked_at_is_refused_at_once(tmp_path: Path) -> None:
    (tmp_path / "file").write_text("")

    with pytest.raises(PolicyError, match="cannot be read"):
        check_policy(_context(tmp_path, tmp_path / "file" / "policy.toml"))


def test_without_a_file_the_rules_wait_for_the_first_call(tmp_path: Path) -> None:
    context = _context(tmp_path, tmp_path / "none.toml")

    check_policy(context)

    assert "policy" not in context.shared
    assert policy_of(context).tools == {"Bash", "edit_file", "write_file"}


def test_a_policy_that_is_loaded_is_not_looked_for_again(tmp_path: Path) -> None:
    context = _context(tmp_path, tmp_path / "users.toml")
    policy = policy_of(context)
    (tmp_path / "users.toml").write_text("rule = 1")

    check_policy(context)

    assert policy_of(context) is policy
