"""Where the gateway's tokens come from."""

from pathlib import Path

import pytest

from toolgate.errors import ConfigError
from toolgate.gateway.tokens import tokens_of
from toolgate.settings import Settings


def _settings(tmp_path: Path, text: str, *, inside: bool = False) -> Settings:
    root = tmp_path / "project"
    root.mkdir()
    file = (root if inside else tmp_path) / "tokens"
    file.write_text(text)
    file.chmod(0o600)
    defaults = Settings.defaults()
    gateway = defaults.gateway.model_copy(update={"token_file": file})
    workspace = defaults.workspace.model_copy(update={"root": root})
    return defaults.model_copy(update={"gateway": gateway, "workspace": workspace})


def test_one_token_without_a_name_is_for_the_only_user(tmp_path: Path) -> None:
    assert tokens_of(_settings(tmp_path, "# mine\n\n" + "t" * 40 + "\n")) == {"": "t" * 40}


def test_lines_with_names_are_users(tmp_path: Path) -> None:
    text = f"ann:{'a' * 40}\nbob:{'b' * 40}\n"

    assert tokens_of(_settings(tmp_path, text)) == {"ann": "a" * 40, "bob": "b" * 40}


def test_a_file_without_a_token_is_refused(tmp_path: Path) -> None:
    with pytest.raises(ConfigError, match="contains no token"):
        tokens_of(_settings(tmp_path, "# nothing\n"))


def test_a_file_that_tools_can_read_is_refused(tmp_path: Path) -> None:
    with pytest.raises(ConfigError, match="inside the project"):
        tokens_of(_settings(tmp_path, "t" * 40, inside=True))
