"""The config file: where it is, what it may say, what is refused and in which words."""

import json
import re
import subprocess
import sys
from pathlib import Path

import pytest
from pydantic import ValidationError

from toolgate.errors import ConfigError
from toolgate.settings import SessionSettings, Settings
from toolgate.userfiles import users_config

DOCS = Path(__file__).parent.parent / "docs" / "settings.md"


@pytest.fixture
def config(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """Where the user's config file is; a test writes it."""
    monkeypatch.setenv("XDG_CONFIG_HOME", str(tmp_path))
    path = tmp_path / "toolgate" / "config.toml"
    path.parent.mkdir()
    return path


def refused(*, problems: int = 1) -> str:
    """What is said about the file, once it is refused."""
    with pytest.raises(ConfigError) as error:
        Settings()
    assert len(error.value.problems) == problems
    return str(error.value)


def test_it_is_in_the_users_config_directory_or_where_it_is_said_to_be() -> None:
    assert users_config({"XDG_CONFIG_HOME": "/c", "HOME": "/h"}) == Path("/c/toolgate/config.toml")
    assert users_config({"XDG_CONFIG_HOME": "c", "HOME": "/h"}) == Path("/h/.config/toolgate/config.toml")
    assert users_config({"TOOLGATE_CONFIG_FILE": "/x.toml", "HOME": "/h"}) == Path("/x.toml")
    assert users_config({}) is None


def test_every_area_has_a_table(config: Path) -> None:
    config.write_text(
        """
        policy_file = "/etc/policy.toml"
        [session]
        coding_enabled = true
        [tool_output]
        max_lines = 7
        direction = "tail"
        [workspace]
        root = "/srv/project"
        [gateway]
        allowed_hosts = ["a.example", "b.example"]
        [shell]
        readable = ["/data"]
        [database]
        url = "sqlite:////srv/x.db"
        [model]
        provider = "openai"
        [agent]
        child_timeout = 5
        """
    )

    read = Settings()

    assert (read.policy_file, read.config_file) == (Path("/etc/policy.toml"), config)
    assert read.session.coding_enabled is True
    assert (read.tool_output.max_lines, read.tool_output.direction) == (7, "tail")
    assert read.workspace.root == Path("/srv/project")
    assert read.gateway.allowed_hosts == ("a.example", "b.example")
    assert read.shell.readable == ("/data",)
    assert read.database.address == "sqlite:////srv/x.db"
    assert read.model.provider == "openai"
    assert read.agent.child_timeout == 5.0


def test_the_environment_wins_over_the_file_and_the_file_over_the_default(
    config: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    config.write_text("[tool_output]\nmax_lines = 7\nmax_bytes = 8\n")
    monkeypatch.setenv("tool_output_max_lines", "9")

    output = Settings().tool_output

    assert (output.max_lines, output.max_bytes, output.retention_days) == (9, 8, 7)


def test_the_defaults_and_a_single_area_do_not_read_it(config: Path) -> None:
    config.write_text("nonsense")

    assert Settings.defaults().config_file is None
    assert SessionSettings().coding_enabled is False


def test_what_a_program_hands_over_wins_over_both(config: Path) -> None:
    config.write_text("[session]\ncoding_enabled = true\n[agent]\nretries = 1\n")

    read = Settings(session=SessionSettings())

    assert (read.session.coding_enabled, read.agent.retries) == (False, 1)


@pytest.mark.parametrize("text", ["", "# nothing\n", "[agent]\n"])
def test_an_empty_file_sets_nothing(config: Path, text: str) -> None:
    config.write_text(text)

    assert Settings().agent == Settings.defaults().agent


@pytest.mark.parametrize(
    ("text", "place", "words"),
    [
        ("[agent]\n\nmax_round = 3\n", "line 3, [agent] max_round", "is not a setting. Did you mean max_rounds?"),
        ("agent.nope = 3\n", "line 1, [agent] nope", "is not a setting. There are: max_rounds"),
        ("[sesion]\na = 1\n", "line 1, sesion", "is not a setting. Did you mean session?"),
        ("max_rounds = 3\n", "line 1, max_rounds", "is not a setting."),
        ("agent = 3\n", "line 1, [agent]", "must be a table. Write [agent]"),
        ("[[agent]]\nretries = 1\n", "[agent]", "must be a table"),
        ('[agent]\nmax_rounds = "50"\n', "line 2, [agent] max_rounds", "should be a valid integer"),
        ("[agent]\nmax_rounds = true\n", "line 2, [agent] max_rounds", "should be a valid integer"),
        ("[agent]\nmax_rounds = 0\n", "line 2, [agent] max_rounds", "greater than or equal to 1"),
        ("[session]\ncoding_enabled = 1\n", "line 2, [session] coding_enabled", "should be a valid boolean"),
        ('[session]\ncoding_enabled = "true"\n', "line 2, [session] coding_enabled", "should be a valid boolean"),
        ("[model]\nname = 2026-01-01\n", "line 2, [model] name", "should be a valid string"),
        ("[shell]\nreadable = [1]\n", "line 2, [shell] readable", "should be a valid string"),
        ('[shell]\nreadable = ["data"]\n', "line 2, [shell] readable", "must be absolute paths"),
        ('[gateway]\nhost = ""\n', "line 2, [gateway] host", "at least 1 character"),
        ('policy_file = ""\n', "line 1, policy_file", "is empty"),
        ("policy_file = 3\n", "line 1, policy_file", "should be a valid string"),
    ],
)
def test_what_cannot_be_set_stops_the_start(config: Path, text: str, place: str, words: str) -> None:
    config.write_text(text)

    said = refused()

    assert said.startswith(f"{config}, {place}")
    assert words in said


def test_everything_that_is_wrong_is_said_at_once(config: Path) -> None:
    config.write_text("[agent]\nmax_rounds = 0\nretries = -1\n[nope]\n")

    assert "[agent] max_rounds" in refused(problems=3)


def test_what_the_environment_overrides_is_checked_all_the_same(config: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    config.write_text("[agent]\nretries = -1\n")
    monkeypatch.setenv("TOOLGATE_AGENT_RETRIES", "1")

    refused()


@pytest.mark.parametrize("value", ['"coding"', '""', '"Chat_Safe"', "1", '["chat_safe"]'])
def test_m08_the_file_cannot_start_sessions_in_another_mode(config: Path, value: str) -> None:
    config.write_text(f"[session]\ndefault_mode = {value}\n")

    assert re.search(r"line 2, \[session\] default_mode: .*chat_safe.*ADR 0025", refused())


def test_m08_the_environment_does_not_hide_another_mode_in_the_file(
    config: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    config.write_text('[session]\ndefault_mode = "coding"\n')
    monkeypatch.setenv("SESSION_DEFAULT_MODE", "chat_safe")

    refused()


def test_chat_safe_in_the_file_is_accepted(config: Path) -> None:
    config.write_text('[session]\ndefault_mode = "chat_safe"\n')

    assert Settings().session.default_mode == "chat_safe"


@pytest.mark.parametrize(
    ("content", "words"),
    [
        (b"[agent\n", "is not TOML: Expected ']' at the end of a table declaration (at line 1, column 7)"),
        (b"\xff = 1\n", "cannot be read: it is not UTF-8 (byte 0)"),
        (b"a = 1\na = 2\n", "is not TOML: Cannot overwrite a value (at line 2"),
        (b"#" * (1 << 20) + b"#", "cannot be read: it is larger than 1048576 bytes"),
    ],
)
def test_a_file_that_cannot_be_parsed_stops_the_start(config: Path, content: bytes, words: str) -> None:
    config.write_bytes(content)

    assert f"{config}: {words}" in refused()


def test_a_file_that_was_named_must_be_there(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("TOOLGATE_CONFIG_FILE", str(tmp_path / "missing.toml"))

    assert "there is no such file. Make it, or unset TOOLGATE_CONFIG_FILE" in refused()


def test_a_name_that_is_empty_is_refused(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("TOOLGATE_CONFIG_FILE", "")

    assert "TOOLGATE_CONFIG_FILE: is empty" in refused()


def test_a_refused_secret_is_not_repeated(config: Path) -> None:
    config.write_text('[gateway]\ntoken = "two words"\n')
    config.chmod(0o600)

    assert "two words" not in refused()


def test_a_policy_is_relative_to_the_file_and_not_to_the_project(
    config: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("HOME", "/home/ada")
    config.write_text('policy_file = "work.toml"\n')
    assert Settings().policy_file == config.parent / "work.toml"

    config.write_text('policy_file = "~/work.toml"\n')
    assert Settings().policy_file == Path("/home/ada/work.toml")


def test_a_project_has_no_say(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    for place in (".toolgate", "toolgate", "."):
        (tmp_path / place).mkdir(exist_ok=True)
        (tmp_path / place / "config.toml").write_text('[shell]\nsandbox = "off"\n')
    monkeypatch.chdir(tmp_path)

    assert Settings().shell.sandbox == "auto"


def test_the_documented_example_is_one(config: Path) -> None:
    example = re.search(r"^```toml\n(.*?)^```$", DOCS.read_text(encoding="utf-8"), re.MULTILINE | re.DOTALL)
    assert example is not None
    config.write_text(example[1])

    assert Settings().agent.max_rounds == 50


def test_the_environment_is_still_checked_by_itself(config: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    config.write_text("[agent]\nretries = 1\n")
    monkeypatch.setenv("TOOLGATE_AGENT_RETRIES", "many")

    with pytest.raises(ValidationError, match="retries"):
        Settings()


def test_the_command_line_says_it_in_one_line_a_problem(config: Path) -> None:
    config.write_text("[agent]\nretries = -1\n[nope]\n")

    done = subprocess.run(
        [sys.executable, "-m", "toolgate", "call", "current_time"], capture_output=True, text=True, check=False
    )

    assert (done.returncode, done.stdout) == (2, "")
    assert [line.startswith(f"toolgate call: {config}, line ") for line in done.stderr.splitlines()] == [True, True]


def test_the_doctor_shows_which_file_is_in_force(config: Path) -> None:
    def finding() -> str:
        done = subprocess.run(
            [sys.executable, "-m", "toolgate", "doctor", "--json"], capture_output=True, text=True, check=False
        )
        found: dict[str, str] = {check["name"]: check["finding"] for check in json.loads(done.stdout)}
        return found.get("config file", found["settings"])

    assert finding() == f"none (it would be {config})"
    config.write_text("[agent]\nretries = 1\n")
    assert finding() == str(config)
    config.write_text("[agent]\nretries = -1\n")
    assert finding().startswith(f"{config}, line 2, [agent] retries")
