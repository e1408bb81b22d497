"""What a command sees of the file system."""

import pytest

from tests.sandbox.kit import VIEWED
from tests.support.shells import CANARY, Shells
from toolgate.sandbox.view import is_below


@VIEWED
def test_nothing_outside_the_root_can_be_read_or_written(shells: Shells) -> None:
    command = (
        f"cat {shells.evil}/secret.txt ../root-evil/secret.txt; ls ..; echo x > {shells.evil}/new; echo x > /etc/new"
    )
    for result in shells.commands(command, access="write") + shells.commands(command, access="full"):
        assert CANARY not in repr(result)
        assert "root-evil" not in result.stdout
    assert [path.name for path in shells.evil.iterdir()] == ["secret.txt"]


@VIEWED
def test_kernel_settings_cannot_be_written(shells: Shells) -> None:
    results = shells.commands(
        "echo x > /proc/sys/kernel/core_pattern",
        "echo b > /proc/sysrq-trigger",
        "mount -t tmpfs x /mnt",
        "unshare -rm true",
    )

    assert [result.exit_code == 0 for result in results] == [False] * 4


@VIEWED
def test_homes_and_keys_are_hidden(shells: Shells) -> None:
    result = shells.command("ls -A ~ /home 2>/dev/null; cat /etc/shadow ~/.ssh/* /root/.ssh/* 2>/dev/null")

    assert set(result.stdout.split()) <= {".cargo", ".pyenv", ".rustup", ".nvm", "/root:", "/home:"}


@VIEWED
def test_output_through_device_names_is_not_lost(shells: Shells) -> None:
    result = shells.command("echo one; echo two > /dev/stdout; echo three > /dev/stderr; echo four | tee /dev/stderr")

    assert (result.stdout, result.stderr) == ("one\ntwo\nfour\n", "three\nfour\n")


@pytest.mark.parametrize(
    ("path", "directory", "below"),
    [
        ("/a/b", "/a", True),
        ("/a", "/a", False),
        ("/ab", "/a", False),
        ("/a", "/a/b", False),
        ("/a", "/", True),
        ("/", "/", False),
    ],
)
def test_a_path_is_below_a_directory_by_whole_components(path: str, directory: str, below: bool) -> None:
    assert is_below(path, directory) is below
