"""A bridge without settings of its own is under the user's policy file."""

from collections.abc import Callable
from pathlib import Path

import pytest

from tests.kit import call, code_of
from toolgate import CallableToolset, PolicyError, ToolContext, ToolMode, Workspace, builtin_registry
from toolgate.adapters.users_policy import under_users_policy
from toolgate.settings import Settings

DENIES = '[[rule]]\ntool = "ls"\ndecision = "deny"\nreason = "no listing"\n'
Made = Callable[[Settings | None], CallableToolset]


@pytest.fixture
def config(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """The user's config directory."""
    monkeypatch.setenv("XDG_CONFIG_HOME", str(tmp_path / "config"))
    monkeypatch.delenv("TOOLGATE_POLICY_FILE", raising=False)
    folder = tmp_path / "config" / "toolgate"
    folder.mkdir(parents=True)
    return folder


@pytest.fixture
def made(tmp_path: Path) -> Made:
    (tmp_path / "root").mkdir()

    def make(settings: Settings | None = None) -> CallableToolset:
        context = ToolContext(workspace=Workspace(tmp_path / "root"), mode=ToolMode.coding, settings=settings)
        return builtin_registry().toolset(ToolMode.coding, context)

    return make


async def test_the_users_rules_hold(config: Path, made: Made) -> None:
    (config / "policy.toml").write_text(DENIES)
    assert code_of(await under_users_policy(made(None)).handle(call("ls"))) == "APPROVAL_DENIED"


async def test_they_hold_also_when_the_toolset_has_been_used_before(config: Path, made: Made) -> None:
    (config / "policy.toml").write_text(DENIES)
    toolset = made(None)
    assert code_of(await toolset.handle(call("ls"))) is None
    assert code_of(await under_users_policy(toolset).handle(call("ls"))) == "APPROVAL_DENIED"


async def test_they_hold_also_when_the_toolset_is_used_first_afterwards(config: Path, made: Made) -> None:
    (config / "policy.toml").write_text(DENIES)
    toolset = made(None)
    wrapped = under_users_policy(toolset)
    await toolset.handle(call("ls"))
    assert code_of(await wrapped.handle(call("ls"))) == "APPROVAL_DENIED"


async def test_a_file_that_the_environment_names_holds(
    config: Path, made: Made, monkeypatch: pytest.MonkeyPatch
) -> None:
    (config / "own.toml").write_text(DENIES)
    monkeypatch.setenv("TOOLGATE_POLICY_FILE", str(config / "own.toml"))
    assert code_of(await under_users_policy(made(None)).handle(call("ls"))) == "APPROVAL_DENIED"


@pytest.mark.parametrize("text", ["rule = 1", None])
def test_a_file_that_cannot_be_used_stops_the_start(
    config: Path, made: Made, monkeypatch: pytest.MonkeyPatch, text: str | None
) -> None:
    if text is not None:
        (config / "policy.toml").write_text(text)
    monkeypatch.setenv("TOOLGATE_POLICY_FILE", str(config / "policy.toml"))
    with pytest.raises(PolicyError):
        under_users_policy(made(None))


async def test_without_a_file_nothing_changes(config: Path, made: Made) -> None:
    assert code_of(await under_users_policy(made(None)).handle(call("ls"))) is None


async def test_settings_that_were_handed_over_are_kept(config: Path, made: Made) -> None:
    (config / "policy.toml").write_text(DENIES)
    toolset = made(Settings.defaults())
    assert under_users_policy(toolset) is toolset
    assert code_of(await made(Settings()).handle(call("ls"))) == "APPROVAL_DENIED"
