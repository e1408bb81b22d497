"""The programs that the runtime starts are never taken from where a command can write."""

import os
from pathlib import Path

import pytest

from tests.support.shells import EVERY_LAYER, Shells
from toolgate.process import executables
from toolgate.process.executables import find_bash, find_program, find_ripgrep, is_safe, safe_path
from toolgate.shell.session import ShellSession

NAMES = ("bwrap", "bash", "rg", "python3", "sh", "git", "env")


def plant(folder: Path, marker: Path, names: tuple[str, ...] = NAMES) -> None:
    """Programs that leave a trace when somebody starts them."""
    folder.mkdir(parents=True, exist_ok=True)
    for name in names:
        (folder / name).write_text(f"#!/bin/sh\necho {name} >> {marker}\n")
        (folder / name).chmod(0o755)


@pytest.fixture
def root(tmp_path: Path) -> Path:
    made = tmp_path / "root"
    plant(made / "bin", made / "started")
    return made


def test_a_path_entry_inside_the_root_never_counts(root: Path) -> None:
    for name in NAMES:
        found = find_program(name, (str(root),), f"{root}/bin:{os.environ['PATH']}")
        assert found is None or not found.startswith(str(root))


@pytest.mark.parametrize("entries", ["", ".", ":", "bin", "./bin::", "../root/bin"])
def test_relative_and_empty_path_entries_never_count(root: Path, entries: str, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(root)
    plant(root, root / "started")

    assert find_bash((str(root),), entries) == os.path.realpath("/bin/bash")
    assert all(entry.startswith("/usr") or entry in ("/bin", "/sbin") for entry in safe_path(entries, (str(root),)))


def test_links_into_the_root_never_count(root: Path, tmp_path: Path) -> None:
    outside = tmp_path / "outside"
    (outside / "programs").mkdir(parents=True)
    (outside / "folder").symlink_to(root / "bin")
    (outside / "programs" / "bash").symlink_to(root / "bin" / "bash")
    (root / "hop").symlink_to("/bin/bash")
    (outside / "hop").mkdir()
    (outside / "hop" / "bash").symlink_to(root / "hop")

    for folder in ("folder", "programs", "hop"):
        assert not is_safe(f"{outside}/{folder}/bash", (str(root),))
        assert find_program("bash", (str(root),), f"{outside}/{folder}") == os.path.realpath("/bin/bash")


def test_a_further_directory_that_commands_may_write_never_counts(tmp_path: Path) -> None:
    shared = tmp_path / "shared"
    plant(shared, shared / "started")

    assert find_program("bash", ("/project", str(shared)), str(shared)) == os.path.realpath("/bin/bash")


def test_a_setting_that_names_a_program_inside_the_root_is_not_used(root: Path) -> None:
    assert find_ripgrep(f"{root}/bin/rg", (str(root),)) is None
    assert executables.bubblewrap_candidates(f"{root}/bin/bwrap", (str(root),)) == ()


def test_a_program_elsewhere_is_found_by_its_real_path(root: Path, tmp_path: Path) -> None:
    (tmp_path / "bin").mkdir()
    (tmp_path / "bin" / "mine").symlink_to("/bin/bash")

    assert find_program("mine", (str(root),), f"{tmp_path}/bin") == os.path.realpath("/bin/bash")


@EVERY_LAYER
def test_commands_run_although_programs_of_these_names_lie_first_on_path(
    shells: Shells, monkeypatch: pytest.MonkeyPatch
) -> None:
    marker = shells.root / "started"
    plant(shells.root / "bin", marker)
    marker.write_text("")
    marker.chmod(0o666)
    path = f"{shells.root}/bin:{os.environ['PATH']}"
    monkeypatch.setenv("PATH", path)
    shells.environment = {"PATH": path}

    assert shells.command("echo $((1 + 1))").stdout == "2\n"
    assert marker.read_text() == ""


async def test_a_session_starts_the_shell_by_its_absolute_path(tmp_path: Path) -> None:
    from toolgate.workspace import Workspace

    workspace = Workspace(tmp_path)
    async with ShellSession(workspace) as session:
        result = await session.execute("echo $BASH")
    workspace.close()

    assert result.stdout == f"{os.path.realpath('/bin/bash')}\n"


def _bubblewraps(place: Path, monkeypatch: pytest.MonkeyPatch, system: str, wheel: str) -> tuple[str, str]:
    """Make two programs that report these versions: the system's and the wheel's."""
    for name, version in (("system", system), ("wheel", wheel)):
        (place / name).write_text(f"#!/bin/sh\necho bubblewrap {version}\n")
        (place / name).chmod(0o755)
    paths = os.path.realpath(place / "system"), os.path.realpath(place / "wheel")
    monkeypatch.setattr(executables, "find_program", lambda *_: paths[0])
    monkeypatch.setattr(executables, "_from_wheel", lambda *_: paths[1])
    return paths


@pytest.mark.parametrize(("system", "first"), [("0.8.0", 1), ("0.11.0", 0), ("0.12.1", 0), ("of some kind", 1)])
def test_the_newer_bubblewrap_comes_first_and_of_two_equal_ones_the_systems(
    public_path: Path, monkeypatch: pytest.MonkeyPatch, system: str, first: int
) -> None:
    paths = _bubblewraps(public_path, monkeypatch, system, "0.11.0")

    assert executables.bubblewrap_candidates(None, ()) == (paths[first], paths[1 - first])


def test_a_bubblewrap_with_the_setuid_bit_comes_first(public_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    paths = _bubblewraps(public_path, monkeypatch, "0.8.0", "0.11.0")
    os.chmod(paths[0], 0o4755)

    assert executables.bubblewrap_candidates(None, ()) == paths


def test_a_bubblewrap_that_commands_can_write_is_not_taken(public_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    paths = _bubblewraps(public_path, monkeypatch, "0.8.0", "0.11.0")
    monkeypatch.setattr(executables, "find_program", lambda *_: None)

    assert executables.bubblewrap_candidates(None, (str(public_path),)) == ()
    assert executables.bubblewrap_candidates(None, ()) == (paths[1],)
