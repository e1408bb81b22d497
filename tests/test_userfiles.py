"""The user's config file on disk: what may not be read by others, or cannot be read at all."""

import os
from pathlib import Path

import pytest
from pydantic import SecretStr

from toolgate.errors import ConfigError
from toolgate.settings import Settings


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


def test_a_file_that_cannot_be_read_stops_the_start(config: Path) -> None:
    config.mkdir()

    assert f"{config}: cannot be read: it is not a regular file" in refused()


def test_a_pipe_in_its_place_keeps_nobody_waiting(config: Path) -> None:
    os.mkfifo(config)

    assert "it is not a regular file" in refused()


@pytest.mark.parametrize(
    ("text", "key", "variable"),
    [
        ('[gateway]\ntoken = "c0ffee"\n', "token", "TOOLGATE_GATEWAY_TOKEN"),
        ('[model]\napi_key = "c0ffee"\n', "api_key", "TOOLGATE_MODEL_API_KEY"),
        ('[database]\nurl = "postgresql://u:c0ffee@h/x"\n', "url", "TOOLGATE_DATABASE_URL"),
    ],
)
def test_a_secret_needs_a_file_that_nobody_else_reads(config: Path, text: str, key: str, variable: str) -> None:
    config.write_text(text)
    for mode in (0o644, 0o640, 0o604):
        config.chmod(mode)
        said = refused()
        assert f"line 2, {text.partition(chr(10))[0]} {key}: is a secret" in said
        assert f"chmod 600 {config}, or set {variable} instead" in said
        assert "c0ffee" not in said

    config.chmod(0o600)

    read = Settings()
    assert read.gateway.token in (None, SecretStr("c0ffee"))
    assert "c0ffee" not in repr(read)


def test_what_is_no_secret_may_be_read_by_everybody(config: Path) -> None:
    config.write_text('[database]\nurl = "postgresql://user@host/x"\n')
    config.chmod(0o644)

    assert Settings().database.url == "postgresql://user@host/x"


def test_a_file_that_everybody_may_write_to_is_not_read(config: Path) -> None:
    config.write_text("[agent]\nretries = 1\n")
    config.chmod(0o666)

    assert "everybody may write to it" in refused()
