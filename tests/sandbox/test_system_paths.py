"""The parts of the machine that every command may read."""

import os
import stat
from pathlib import Path

from toolgate.sandbox.system_paths import private_configuration, resolver_mounts, system_mounts


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
