"""The parts of the machine that every command may read."""

import os
import shutil
import stat
import tempfile
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest

from tests.sandbox.test_reusable import WHICH, run_settled, same_sandbox
from tests.support.shells import Shells
from toolgate.sandbox import system_paths
from toolgate.sandbox.session_directory import SessionDirectory
from toolgate.sandbox.system_paths import PrivatePaths, private_configuration, resolver_mounts, system_mounts
from toolgate.sandbox.view_builder import ViewBuilder


def test_the_system_is_mounted_read_only_or_as_the_same_link() -> None:
    mounts = {mount.target: mount for mount in system_mounts()}

    assert mounts["/usr"].kind == "ro"
    assert mounts["/etc"].kind == "ro"
    assert {mount.kind for mount in mounts.values()} <= {"ro", "symlink"}
    assert all(os.readlink(path) == mount.source for path, mount in mounts.items() if mount.kind == "symlink")


def test_every_part_of_the_system_exists() -> None:
    assert [mount.target for mount in system_mounts() if not os.path.lexists(mount.target)] == []


def test_what_others_may_not_read_in_etc_is_private() -> None:
    private = dict(private_configuration())

    for path, is_directory in private.items():
        mode = Path(path).lstat().st_mode
        assert stat.S_ISDIR(mode) is is_directory
        assert mode & 0o005 != 0o005
    if os.path.exists("/etc/shadow"):
        assert private["/etc/shadow"] is False


def test_the_resolver_is_mounted_only_where_it_is_a_link_into_run() -> None:
    real = os.path.realpath("/etc/resolv.conf")

    assert [mount.target for mount in resolver_mounts()] == ([real] if real.startswith("/run/") else [])


def put(path: Path, mode: int = 0o600) -> None:
    path.write_text("secret\n")
    path.chmod(mode)


def move_away(directory: Path) -> None:
    directory.rename(directory.parent.parent / "elsewhere")


@pytest.mark.parametrize(
    ("change", "expected"),
    [
        (lambda etc: put(etc / "new"), ["below/private", "new", "private"]),
        (lambda etc: put(etc / "below" / "new"), ["below/new", "below/private", "private"]),
        (lambda etc: (etc / "new").mkdir(0o700), ["below/private", "new/", "private"]),
        (lambda etc: (etc / "open").chmod(0o640), ["below/private", "open", "private"]),
        (lambda etc: (etc / "below").chmod(0o750), ["below/", "private"]),
        (lambda etc: (etc / "private").unlink(), ["below/private"]),
        (lambda etc: (etc / "private").rename(etc / "open"), ["below/private", "open"]),
        (lambda etc: (etc / "private").chmod(0o644), ["below/private"]),
        (lambda etc: move_away(etc / "below"), ["private"]),
        (lambda etc: shutil.rmtree(etc / "below"), ["private"]),
    ],
    ids=["file", "deeper", "directory", "closed", "closed directory", "gone", "replaced", "opened", "moved", "removed"],
)
@pytest.mark.parametrize("can_watch", [True, False])
def test_what_is_private_now_counts(
    tmp_path: Path,
    change: Callable[[Path], object],
    expected: list[str],
    can_watch: bool,
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    if not can_watch:
        monkeypatch.setattr(system_paths, "_make_watches", lambda: None)
    etc = tmp_path / "etc"
    (etc / "below").mkdir(parents=True)
    for path in (etc, etc / "below"):
        path.chmod(0o755)
    put(etc / "private")
    put(etc / "below" / "private")
    put(etc / "open", 0o644)
    paths = PrivatePaths(str(etc))

    def names() -> list[str]:
        return [os.path.relpath(path, etc) + "/" * is_directory for path, is_directory in paths.now()]

    assert [names(), names()] == [["below/private", "private"]] * 2
    change(etc)
    assert [names(), names()] == [expected] * 2


def test_what_is_new_in_a_new_directory_counts(tmp_path: Path) -> None:
    paths = PrivatePaths(str(tmp_path))
    tmp_path.chmod(0o755)
    assert paths.now() == ()
    (tmp_path / "new").mkdir(mode=0o755)
    assert paths.now() == ()
    put(tmp_path / "new" / "private")
    assert paths.now() == ((str(tmp_path / "new" / "private"), False),)


def test_a_directory_that_has_not_changed_is_not_read_again(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    paths = PrivatePaths(str(tmp_path))
    before = paths.now()
    monkeypatch.setattr(os, "scandir", None)

    assert paths.now() is before


def test_a_directory_that_could_not_be_read_is_read_again(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    def fail(_path: str) -> object:
        raise OSError(24, "Too many open files")

    paths = PrivatePaths(str(tmp_path))
    put(tmp_path / "private")
    with monkeypatch.context() as shortage:
        shortage.setattr(os, "scandir", fail)
        with pytest.raises(OSError, match="Too many"):
            paths.now()

    assert paths.now() == ((str(tmp_path / "private"), False),)


@pytest.fixture
def configuration(monkeypatch: pytest.MonkeyPatch) -> Iterator[Path]:
    """A directory that takes the place of `/etc`. Commands see it, unlike one in a temporary directory."""
    if not os.access("/var", os.W_OK):
        pytest.skip("only root can make a directory that commands see at its place")
    directory = Path(tempfile.mkdtemp(prefix="toolgate-configuration-", dir="/var"))
    directory.chmod(0o755)
    monkeypatch.setattr(system_paths, "_ETC", str(directory))
    system_mounts.cache_clear()
    try:
        yield directory
    finally:
        system_mounts.cache_clear()
        shutil.rmtree(directory)


@pytest.mark.parametrize("layer", ["bwrap", "namespaces"], indirect=True)
def test_a_new_private_file_is_hidden_from_the_next_command(shells: Shells, configuration: Path) -> None:
    os.chown(configuration, shells.uid, shells.uid)
    private = configuration / "private"
    before, after = run_settled(shells, WHICH, f"cat {private}; {WHICH}", between=lambda: put(private))

    assert "secret" not in after.stdout
    assert not same_sandbox([before, after])


@pytest.mark.parametrize("layer", ["bwrap", "namespaces"], indirect=True)
def test_a_private_file_that_is_gone_stops_no_command(shells: Shells, configuration: Path) -> None:
    os.chown(configuration, shells.uid, shells.uid)
    private = configuration / "private"
    put(private)
    os.chown(private, shells.uid, shells.uid)
    before, after = run_settled(
        shells, f"cat {private}", f"ls {configuration}; echo works", between=lambda: private.unlink(missing_ok=True)
    )

    assert (before.stdout, before.exit_code) == ("", 0)
    assert after.stdout == "works\n"


@pytest.mark.parametrize("mounts", [True, False])
def test_a_view_that_was_made_before_a_new_private_file_does_not_hold(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, mounts: bool
) -> None:
    etc, root = tmp_path / "etc", tmp_path / "root"
    for directory in (etc, root):
        directory.mkdir(mode=0o755)
    monkeypatch.setattr(system_paths, "_ETC", str(etc))
    places = SessionDirectory(str(root))
    views = ViewBuilder(str(root), places, home="/root", path=(), mounts=mounts)
    try:
        before = views.identity("read")
        assert views.identity("read") == before
        put(etc / "private")
        assert views.identity("read") != before
    finally:
        views.close()
        places.remove()
