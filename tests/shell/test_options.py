"""What the operator sets reaches the commands."""

from pathlib import Path

import pytest
from pydantic import ValidationError

from toolgate.settings import Settings, ShellSettings
from toolgate.shell import ShellOptions, ShellSession
from toolgate.shell.options import MIB
from toolgate.workspace import Workspace


def settings_of(monkeypatch: pytest.MonkeyPatch, **variables: str) -> Settings:
    for name, value in variables.items():
        monkeypatch.setenv(f"TOOLGATE_{name}", value)
    return Settings()


def test_settings_become_options(monkeypatch: pytest.MonkeyPatch) -> None:
    settings = settings_of(
        monkeypatch,
        SHELL_SANDBOX="off",
        SHELL_MEMORY_MB="100",
        SHELL_ENVIRONMENT="A, B",
        SHELL_READABLE="/data",
        DATABASE_URL="sqlite+aiosqlite:///data/x.db",
        POLICY_FILE="/elsewhere/policy.toml",
        MCP_CONFIG="/elsewhere/mcp.json",
    )
    options = ShellOptions.of(settings, "/root/project")

    assert (options.sandbox, options.memory_bytes, options.readable) == ("off", 100 * MIB, ("/data",))
    assert options.passed_environment == ("A", "B")
    own = ("/elsewhere/policy.toml", "/nonexistent/toolgate/config.toml", "/elsewhere/mcp.json")
    users = ("/nonexistent/toolgate", "/nonexistent/toolgate/hooks.json")
    assert {*own, *users, "/root/project/data/x.db"} <= set(options.hidden)


def test_relative_readable_paths_are_refused() -> None:
    with pytest.raises(ValidationError, match="absolute"):
        ShellSettings(readable=("relative",))


async def test_a_variable_and_a_directory_that_the_operator_allows_are_there(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    root, extra = tmp_path / "root", tmp_path / "extra"
    root.mkdir()
    extra.mkdir()
    (extra / "f").write_text("data\n")
    monkeypatch.setenv("SPECIAL", "passed")
    settings = settings_of(monkeypatch, SHELL_ENVIRONMENT="SPECIAL", SHELL_READABLE=str(extra))
    async with ShellSession(Workspace(root), settings=settings) as session:
        result = await session.execute(f"echo $SPECIAL; cat {extra}/f; touch {extra}/new")

    assert result.stdout == "passed\ndata\n"
    assert [path.name for path in extra.iterdir()] == ["f"]
