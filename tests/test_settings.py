"""Settings: defaults, bounds, where they come from, and the table that documents them."""

import os
import re
from pathlib import Path
from typing import Any

import pytest
from pydantic import BaseModel, SecretStr, ValidationError

import toolgate
from toolgate import ToolContext
from toolgate.errors import ConfigError
from toolgate.protocol.choices import LAYERS, PROVIDERS, TRUNCATIONS
from toolgate.settings import (
    AREAS,
    READ,
    GatewaySettings,
    SessionSettings,
    Settings,
    ShellSettings,
    ToolOutputSettings,
    explain,
    variable,
    variables,
)
from toolgate.settings.area import Area
from toolgate.userfiles import users_database, users_policy

DOCS = Path(__file__).parent.parent / "docs" / "settings.md"


def test_defaults_are_the_documented_ones() -> None:
    output = Settings.defaults().tool_output

    assert output.model_dump() == {
        "max_lines": 2000,
        "max_bytes": 51200,
        "direction": None,
        "dir": "tool-output",
        "retention_days": 7,
    }


def test_defaults_equal_what_an_empty_environment_gives(monkeypatch: pytest.MonkeyPatch) -> None:
    for name in ("HOME", "XDG_CONFIG_HOME"):
        monkeypatch.delenv(name, raising=False)
    assert Settings.defaults() == Settings()


@pytest.mark.parametrize("area", READ.values())
def test_an_area_that_nobody_has_set_is_what_reading_it_gives(area: type[Area]) -> None:
    read, plain = area(), area.model_construct()

    assert (read, read.model_fields_set) == (plain, plain.model_fields_set)
    assert {name: type(value) for name, value in read} == {name: type(value) for name, value in plain}


def test_settings_are_the_same_whether_an_area_was_read_or_given(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("tool_output_max_lines", "10")
    read = Settings()

    assert Settings(tool_output=ToolOutputSettings(max_lines=10)) == read
    assert list(read.model_dump()) == list(Settings.model_fields)
    assert read.tool_output.max_lines == 10


def test_defaults_do_not_read_the_environment(monkeypatch: pytest.MonkeyPatch) -> None:
    plain = Settings.defaults()
    monkeypatch.setenv("TOOL_OUTPUT_MAX_LINES", "3")
    monkeypatch.setenv("SESSION_DEFAULT_MODE", "coding")
    monkeypatch.setenv("TOOLGATE_POLICY_FILE", "/nowhere.toml")

    assert Settings.defaults() == plain


@pytest.mark.parametrize(
    ("name", "table"),
    [
        ("TOOLGATE_SHELL_SANDBOX", LAYERS),
        ("TOOLGATE_MODEL_PROVIDER", PROVIDERS),
        ("TOOL_OUTPUT_DIRECTION", TRUNCATIONS),
    ],
)
def test_every_value_of_a_choice_is_documented(name: str, table: dict[str, object]) -> None:
    row = next(line for line in DOCS.read_text(encoding="utf-8").splitlines() if line.startswith(f"| `{name}`"))

    missing = [value for value in table if f"`{value}`" not in row]
    assert missing == [], f"docs/settings.md does not name these values in its row of {name}"


@pytest.mark.parametrize(
    ("name", "value", "area", "field", "expected"),
    [
        ("SESSION_CODING_ENABLED", "true", "session", "coding_enabled", True),
        ("TOOL_OUTPUT_MAX_LINES", "10", "tool_output", "max_lines", 10),
        ("TOOL_OUTPUT_DIRECTION", "head_tail", "tool_output", "direction", "head_tail"),
        ("TOOL_OUTPUT_DIR", "var//out/", "tool_output", "dir", "var/out"),
        ("TOOLGATE_WORKSPACE_ROOT", "/srv/project", "workspace", "root", Path("/srv/project")),
        ("TOOLGATE_GATEWAY_TOKEN", "s3cret", "gateway", "token", SecretStr("s3cret")),
        (
            "TOOLGATE_GATEWAY_ALLOWED_HOSTS",
            "a.example, b.example:80,",
            "gateway",
            "allowed_hosts",
            ("a.example", "b.example:80"),
        ),
        ("TOOLGATE_SHELL_SANDBOX", "landlock", "shell", "sandbox", "landlock"),
        ("TOOLGATE_SHELL_RIPGREP", "", "shell", "ripgrep", ""),
        ("TOOLGATE_DATABASE_URL", "sqlite+aiosqlite:///x.db", "database", "url", "sqlite+aiosqlite:///x.db"),
        ("TOOLGATE_MODEL_PROVIDER", "openai", "model", "provider", "openai"),
    ],
)
def test_a_variable_sets_its_field(
    monkeypatch: pytest.MonkeyPatch, name: str, value: str, area: str, field: str, expected: object
) -> None:
    monkeypatch.setenv(name, value)

    assert getattr(getattr(Settings(), area), field) == expected


def test_the_users_policy_is_in_the_config_directory(monkeypatch: pytest.MonkeyPatch) -> None:
    assert users_policy({"XDG_CONFIG_HOME": "/c", "HOME": "/h"}) == Path("/c/toolgate/policy.toml")
    assert users_policy({"XDG_CONFIG_HOME": "relative", "HOME": "/h"}) == Path("/h/.config/toolgate/policy.toml")
    assert users_policy({}) is None
    monkeypatch.setenv("XDG_CONFIG_HOME", "/c")
    assert Settings().policy_file == Path("/c/toolgate/policy.toml")
    assert Settings.defaults().policy_file is None


def test_the_policy_file_stands_alone(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("TOOLGATE_POLICY_FILE", "/etc/policy.toml")

    assert Settings().policy_file == Path("/etc/policy.toml")


@pytest.mark.parametrize(
    ("name", "value"),
    [
        ("SESSION_CODING_ENABLED", ""),
        ("SESSION_CODING_ENABLED", "perhaps"),
        *[
            (f"TOOL_OUTPUT_{field}", value)
            for field in ("MAX_LINES", "MAX_BYTES", "RETENTION_DAYS")
            for value in ("0", "-1", "", "1.5", "many", "99999999999")
        ],
        *[("TOOL_OUTPUT_DIRECTION", value) for value in ("", "HEAD", "middle")],
        *[
            ("TOOL_OUTPUT_DIR", value)
            for value in ("", ".", "..", "../out", "a/../../b", "/tmp/out", ".git/x", ".toolgate")
        ],
        ("TOOLGATE_WORKSPACE_ROOT", ""),
        *[("TOOLGATE_GATEWAY_PORT", value) for value in ("-1", "65536", "http")],
        *[("TOOLGATE_GATEWAY_TOKEN", value) for value in ("", " ", "two words", "é")],
        ("TOOLGATE_GATEWAY_HOST", ""),
        *[("TOOLGATE_SHELL_SANDBOX", value) for value in ("", "on", "none", "OFF")],
        ("TOOLGATE_DATABASE_URL", ""),
        ("TOOLGATE_MODEL_PROVIDER", "oracle"),
        ("TOOLGATE_MODEL_NAME", ""),
        ("TOOLGATE_MODEL_BASE_URL", "file:///etc/passwd"),
        ("TOOLGATE_POLICY_FILE", ""),
    ],
)
def test_a_bad_value_is_refused_naming_the_variable(monkeypatch: pytest.MonkeyPatch, name: str, value: str) -> None:
    monkeypatch.setenv(name, value)

    with pytest.raises(ValidationError) as refused:
        Settings()

    assert [line.partition(":")[0] for line in explain(refused.value)] == [name]


def test_several_bad_values_of_an_area_are_all_explained(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("TOOL_OUTPUT_MAX_LINES", "0")
    monkeypatch.setenv("TOOL_OUTPUT_RETENTION_DAYS", "x")

    with pytest.raises(ValidationError) as refused:
        Settings()

    assert explain(refused.value) == [
        "TOOL_OUTPUT_MAX_LINES: Input should be greater than or equal to 1",
        "TOOL_OUTPUT_RETENTION_DAYS: Input should be a valid integer, unable to parse string as an integer",
    ]


@pytest.mark.parametrize(
    ("environ", "expected"),
    [
        ({"XDG_DATA_HOME": "/data/", "HOME": "/home/ada"}, "sqlite:////data/toolgate/toolgate.db"),
        ({"XDG_DATA_HOME": "relative", "HOME": "/home/ada"}, "sqlite:////home/ada/.local/share/toolgate/toolgate.db"),
        ({}, "sqlite:///.toolgate/toolgate.db"),
    ],
)
def test_the_database_is_in_the_users_data_directory(environ: dict[str, str], expected: str) -> None:
    assert users_database(environ) == expected


def test_a_database_that_is_set_is_used(monkeypatch: pytest.MonkeyPatch) -> None:
    unset = Settings().database.address
    monkeypatch.setenv("TOOLGATE_DATABASE_URL", "sqlite:///x.db")

    assert unset == users_database(os.environ)
    assert Settings().database.address == "sqlite:///x.db"


def test_a_refused_secret_is_not_repeated(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("TOOLGATE_GATEWAY_TOKEN", "two words")

    with pytest.raises(ValidationError) as refused:
        GatewaySettings()

    assert "two words" not in str(refused.value)


def test_secrets_do_not_show_in_the_settings(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("TOOLGATE_GATEWAY_TOKEN", "c0ffee")
    monkeypatch.setenv("TOOLGATE_MODEL_API_KEY", "c0ffee")
    monkeypatch.setenv("TOOLGATE_DATABASE_URL", "postgresql+asyncpg://user:c0ffee@db/x")

    assert "c0ffee" not in repr(Settings())


def test_settings_are_frozen() -> None:
    with pytest.raises(ValidationError, match="frozen"):
        ToolOutputSettings().max_lines = 1  # type: ignore[misc]  # what a type checker refuses, too


def test_an_unknown_argument_is_refused() -> None:
    with pytest.raises(ValidationError, match="Extra inputs"):
        Settings.model_validate({"sesion": {}})


def test_the_root_has_every_area() -> None:
    assert {name: type(getattr(Settings.defaults(), name)) for name in AREAS} == AREAS


def test_the_documented_table_names_every_variable_its_key_and_its_default() -> None:
    expected = {"TOOLGATE_CONFIG_FILE": ("–", "–")}
    for table, area in READ.items():
        for name, field in area.model_fields.items():
            key = f"`[{table}] {name}`" if table else f"`{name}`"
            expected[variable(area, name)] = (key, _documented(field.default))

    found = re.findall(r"^\| `([A-Z_]+)` \| (.*?) \| (.*?) \|", DOCS.read_text(encoding="utf-8"), re.MULTILINE)

    assert {name: (key, default) for name, key, default in found} == expected
    assert len(found) == len(expected)
    assert set(expected) == variables()


def _documented(value: object) -> str:
    if value is None or value == ():
        return "–"
    return f"`{str(value).lower() if isinstance(value, bool) else value}`"


WRONG: list[dict[str, Any]] = [
    {"polcy_file": "/etc/policy.toml"},
    {"policy_file": 7},
    {"policy_file": ""},
    {"mcp_config": b"x"},
    {"tool_output": None},
    {"tool_output": 3},
    {"tool_output": SessionSettings()},
    {"tool_output": {"max_line": 3}},
    {"tool_output": {"max_lines": "many"}},
    {"tool_output": ToolOutputSettings.model_construct(max_lines="many")},  # type: ignore[arg-type]
    {"shell": ShellSettings.model_construct(sandbox="none")},
    {"session": {"default_mode": "coding"}},
]


@pytest.mark.parametrize("update", WRONG, ids=str)
def test_a_copy_with_other_settings_is_validated(update: dict[str, Any]) -> None:
    with pytest.raises(ValidationError):
        Settings.defaults().model_copy(update=update)
    with pytest.raises(ConfigError):
        Settings.of(**update)


@pytest.mark.parametrize("update", [{"max_line": 1}, {"max_lines": 0}, {"max_lines": "many"}, {"dir": ".."}])
def test_a_copy_of_an_area_is_validated(update: dict[str, Any]) -> None:
    with pytest.raises(ValidationError):
        ToolOutputSettings().model_copy(update=update)


@pytest.mark.parametrize("update", WRONG, ids=str)
async def test_settings_that_nobody_has_validated_are_refused_where_they_are_used(update: dict[str, Any]) -> None:
    settings = BaseModel.model_copy(Settings.defaults(), update=update)
    with pytest.raises(ValidationError):
        ToolContext(settings=settings)
    with pytest.raises(ValidationError):
        async with toolgate.open(settings=settings):
            pass


def test_settings_of_another_kind_are_refused() -> None:
    with pytest.raises(TypeError, match="must be a toolgate"):
        ToolContext(settings={"policy_file": "x"})  # type: ignore[arg-type]


def test_load_reads_the_environment_and_of_does_not(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("TOOL_OUTPUT_MAX_LINES", "7")
    assert Settings.load().tool_output.max_lines == 7
    assert Settings.of(gateway={"port": 9000}).tool_output.max_lines == 2000
    loaded = Settings.load(session=SessionSettings(coding_enabled=True))
    assert (loaded.session.coding_enabled, loaded.tool_output.max_lines) == (True, 7)


@pytest.mark.parametrize(
    ("given", "said"),
    [
        ({"polcy_file": "x"}, "polcy_file is not a setting. Did you mean policy_file?"),
        ({"gateway": {"prot": 1}}, "gateway.prot is not a setting. Did you mean port?"),
        ({"gateway": {"port": "many"}}, "gateway.port: "),
        ({"tool_output": 3}, "tool_output: "),
    ],
)
def test_a_misspelt_setting_is_one_sentence_that_says_what_to_write(given: dict[str, Any], said: str) -> None:
    with pytest.raises(ConfigError) as refused:
        Settings.of(**given)
    assert str(refused.value).startswith(said)
    assert "\n" not in str(refused.value)


def test_what_fits_is_taken_and_the_environment_is_not_read(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("TOOL_OUTPUT_MAX_LINES", "7")
    settings = Settings.of(policy_file="/etc/policy.toml", tool_output={"max_bytes": 5000})
    assert settings.policy_file == Path("/etc/policy.toml")
    assert (settings.tool_output.max_lines, settings.tool_output.max_bytes) == (2000, 5000)
    assert Settings.of() == Settings.defaults()
    copy = settings.model_copy(update={"session": settings.session.model_copy(update={"coding_enabled": True})})
    assert (copy.session.coding_enabled, copy.tool_output) == (True, settings.tool_output)
    assert copy.checked() is copy
