"""Reading the user's configuration files."""

import os
from pathlib import Path

import pytest

from toolgate.workspace.user_config import MAX_CONFIG, read_config, update_config


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


def test_what_an_editor_saves_meanwhile_is_not_lost(tmp_path: Path) -> None:
    """An editor takes no lock, and many replace the file."""
    file = tmp_path / "policy.toml"
    file.write_text("# mine\n")
    saved = iter(["# mine\n# one\n", "# mine\n# one\n# two\n"])

    def added(text: str | None) -> str:
        if (new := next(saved, None)) is not None:
            (tmp_path / "editor").write_text(new)
            (tmp_path / "editor").rename(file)
        return f"{text}# added\n"

    update_config(file, added)
    assert file.read_text() == "# mine\n# one\n# two\n# added\n"


def test_a_file_that_never_stops_changing_is_left_to_the_other_program(tmp_path: Path) -> None:
    file = tmp_path / "policy.toml"
    file.write_text("")

    def added(text: str | None) -> str:
        file.write_text(f"{text}# theirs\n")
        return f"{text}# added\n"

    with pytest.raises(ValueError, match="keeps changing"):
        update_config(file, added)
    assert set(file.read_text().splitlines()) == {"# theirs"}
    assert [path.name for path in tmp_path.iterdir()] == ["policy.toml"]


def test_a_file_that_stays_as_it_is_is_not_written(tmp_path: Path) -> None:
    file = tmp_path / "policy.toml"
    file.write_text("# mine\n")
    before = file.stat()
    update_config(file, lambda text: text or "")
    assert (file.stat().st_ino, file.stat().st_mode) == (before.st_ino, before.st_mode)
