"""When a policy is looked at: what is wrong with one stops a turn before it begins."""

from pathlib import Path

import pytest

from toolgate import CallableToolset, PolicyError, ToolContext, Workspace
from toolgate.runtime.policy.builtin import WRITERS
from toolgate.runtime.policy_source import check_policy, policy_of
from toolgate.runtime.state import runtime_state
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
        check_policy(_context(tmp_path, file if users else None))


def test_a_place_that_cannot_be_looked_at_is_refused_at_once(tmp_path: Path) -> None:
    (tmp_path / "file").write_text("")

    with pytest.raises(PolicyError, match="cannot be read"):
        check_policy(_context(tmp_path, tmp_path / "file" / "policy.toml"))


def test_without_a_file_the_rules_wait_for_the_first_call(tmp_path: Path) -> None:
    context = _context(tmp_path, None)

    check_policy(context)

    assert runtime_state(context).policy is None
    assert policy_of(context).tools == {"Bash", *WRITERS}


def test_a_policy_that_is_loaded_is_not_looked_for_again(tmp_path: Path) -> None:
    (tmp_path / "users.toml").write_text("")
    context = _context(tmp_path, tmp_path / "users.toml")
    policy = policy_of(context)
    (tmp_path / "users.toml").write_text("rule = 1")

    check_policy(context)

    assert policy_of(context) is policy


@pytest.mark.parametrize("link", [False, True])
def test_a_named_file_that_is_not_there_is_refused_at_once(tmp_path: Path, *, link: bool) -> None:
    file = tmp_path / "misspelt.toml"
    if link:
        file.symlink_to(tmp_path / "nowhere.toml")

    with pytest.raises(PolicyError, match=r"misspelt\.toml: there is no such file"):
        check_policy(_context(tmp_path, file))
    with pytest.raises(PolicyError, match=r"misspelt\.toml"):
        CallableToolset([], _context(tmp_path, file))


def test_the_default_place_may_be_empty(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("XDG_CONFIG_HOME", str(tmp_path / "config"))
    monkeypatch.delenv("TOOLGATE_POLICY_FILE", raising=False)
    settings = Settings()

    check_policy(ToolContext(settings=settings))

    assert settings.policy_file == tmp_path / "config" / "toolgate" / "policy.toml"


def test_a_link_to_nowhere_in_the_default_place_is_refused(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("XDG_CONFIG_HOME", str(tmp_path))
    (tmp_path / "toolgate").mkdir()
    (tmp_path / "toolgate" / "policy.toml").symlink_to("gone.toml")

    with pytest.raises(PolicyError, match=r"policy\.toml: there is no such file"):
        check_policy(ToolContext(settings=Settings()))
