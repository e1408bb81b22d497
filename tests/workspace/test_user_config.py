"""Reading the user's configuration files."""

import os
from pathlib import Path

import pytest

from toolgate.workspace.user_config import MAX_CONFIG, read_config


def test_a_file_is_read(tmp_path: Path) -> None:
    (tmp_path / "policy.toml").write_text("# é", encoding="utf-8")
    assert read_config(tmp_path / "policy.toml") == "# é"


def test_a_missing_file_is_none(tmp_path: Path) -> None:
    assert read_config(tmp_path / "policy.toml") is None


def test_a_fifo_is_refused_without_waiting(tmp_path: Path) -> None:
    os.mkfifo(tmp_path / "policy.toml")
    with pytest.raises(ValueError, match="not a regular file"):
        read_config(tmp_path / "policy.toml")


def test_a_directory_is_refused(tmp_path: Path) -> None:
    with pytest.raises(ValueError, match="not a regular file"):
        read_config(tmp_path)


def test_a_file_that_is_not_utf8_is_refused(tmp_path: Path) -> None:
    (tmp_path / "policy.toml").write_bytes(b"ab\xff")
    with pytest.raises(ValueError, match="not UTF-8 \\(byte 2\\)"):
        read_config(tmp_path / "policy.toml")


def test_a_file_that_is_too_large_is_refused(tmp_path: Path) -> None:
    (tmp_path / "policy.toml").write_bytes(b" " * (MAX_CONFIG + 1))
    with pytest.raises(ValueError, match="larger than"):
        read_config(tmp_path / "policy.toml")
