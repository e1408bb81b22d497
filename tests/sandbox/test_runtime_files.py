"""The runtime's own files are hidden."""

import os
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest

from tests.sandbox.kit import VIEWED
from tests.support.shells import CANARY, EVERY_LAYER, Shells
from toolgate.process import executables
from toolgate.process.executables import runtime_files
from toolgate.shell.options import ShellOptions
from toolgate.shell.result import CommandResult
from toolgate.shell.session import ShellSession


@VIEWED
def test_the_runtimes_own_files_are_hidden_in_every_access(shells: Shells) -> None:
    (shells.root / ".toolgate").mkdir()
    (shells.root / ".toolgate" / "policy.toml").write_text(CANARY)
    (shells.root / "data.db").write_text(CANARY)
    for name in (".toolgate", ".toolgate/policy.toml", "data.db"):
        os.chown(shells.root / name, shells.uid, shells.uid) if os.geteuid() == 0 else None
    shells.options = ShellOptions(hidden=(str(shells.root / "data.db"), str(shells.root / "later.db")))

    async def script(session: ShellSession) -> list[CommandResult]:
        command = "cat .toolgate/policy.toml data.db; echo evil > data.db; echo evil > later.db"
        return [await session.execute(command, access=access) for access in ("read", "write", "full")]

    assert CANARY not in repr(shells.run(script))
    assert (shells.root / "data.db").read_text() == CANARY
    assert not (shells.root / "later.db").exists()


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


ATTACKS = (
    "echo planted > a/.venv/bin/python",
    "rm -rf a/.venv",
    "mv a/.venv a/other && mkdir -p a/.venv/bin && echo planted > a/.venv/bin/python",
    "mv a b && mkdir -p a/.venv/bin && echo planted > a/.venv/bin/python",
    "ln -sf /bin/true a/.venv/bin/python",
    "echo planted > a/.venv/lib/module.py",
)


@EVERY_LAYER
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


@EVERY_LAYER
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
