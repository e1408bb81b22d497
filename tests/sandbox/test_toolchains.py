"""Toolchains in a home directory: readable where PATH leads to them, without the keys beside them."""

from pathlib import Path

import pytest

from toolgate.sandbox.toolchains import keys, toolchains


@pytest.fixture
def home(tmp_path: Path) -> Path:
    made = tmp_path / "home"
    made.mkdir()
    return made


def _folder(path: Path) -> str:
    path.mkdir(parents=True)
    return str(path)


def test_a_known_toolchain_is_readable_as_a_whole_with_what_it_needs(home: Path) -> None:
    entry = _folder(home / ".cargo" / "bin")
    rustup = _folder(home / ".rustup")

    assert toolchains([entry], str(home)) == (str(home / ".cargo"), rustup)


def test_a_virtual_environment_is_readable_as_a_whole(home: Path) -> None:
    entry = _folder(home / "work" / "venv" / "bin")
    (home / "work" / "venv" / "pyvenv.cfg").write_text("")

    assert toolchains([entry], str(home)) == (str(home / "work" / "venv"),)


def test_any_other_bin_directory_brings_its_libraries_and_nothing_beside_them(home: Path) -> None:
    entry = _folder(home / "tool" / "bin")
    library = _folder(home / "tool" / "lib")
    _folder(home / "tool" / "private")

    assert toolchains([entry], str(home)) == (entry, library)


def test_the_home_itself_and_the_system_never_count(home: Path) -> None:
    assert toolchains([str(home), "/usr/bin", str(home / "missing")], str(home)) == ()


def test_credentials_inside_a_toolchain_are_named(home: Path) -> None:
    place = _folder(home / ".cargo")
    (home / ".cargo" / "credentials.toml").write_text("token")

    assert keys([place], str(home)) == (str(home / ".cargo" / "credentials.toml"),)
    assert keys([str(home / ".rustup")], str(home)) == ()
