"""The host's devices keep their modes, also if a command of root changes them."""

import os
import stat
from pathlib import Path

import pytest

from tests.sandbox.kit import VIEWED
from tests.support.privileges import UIDS
from tests.support.shells import Shells
from toolgate.sandbox.device_modes import DeviceModes
from toolgate.shell import starter
from toolgate.shell.result import CommandResult
from toolgate.shell.session import ShellSession

FULL = Path("/dev/full")
"""The device that programs need least."""


def mode(path: Path) -> int:
    return stat.S_IMODE(path.stat().st_mode)


def test_a_changed_mode_is_restored_once(tmp_path: Path) -> None:
    changed, same = tmp_path / "changed", tmp_path / "same"
    for path in (changed, same):
        path.touch()
        path.chmod(0o666)
    modes = DeviceModes([str(changed), str(same), str(tmp_path / "missing")])
    changed.chmod(0)

    assert modes.restore() == [str(changed)]
    assert mode(changed) == 0o666
    assert modes.restore() == []


def test_a_device_that_is_narrowed_at_first_keeps_what_others_restore(tmp_path: Path) -> None:
    path = tmp_path / "device"
    path.touch()
    path.chmod(0o600)
    modes = DeviceModes([str(path)])
    path.chmod(0o666)

    assert modes.restore() == []
    assert mode(path) == 0o666


def test_an_access_list_is_removed(tmp_path: Path) -> None:
    path = tmp_path / "device"
    path.touch()
    path.chmod(0o666)
    modes = DeviceModes([str(path)])
    owner_only = b"\x02\x00\x00\x00" + b"".join(
        tag.to_bytes(2, "little") + rights.to_bytes(2, "little") + b"\xff" * 4
        for tag, rights in ((1, 6), (4, 0), (16, 0), (32, 0))
    )
    os.setxattr(path, "system.posix_acl_access", owner_only)
    assert modes.restore() == [str(path)]
    assert (mode(path), os.listxattr(path)) == (0o666, [])


@VIEWED
def test_devices_keep_their_modes_and_work(shells: Shells) -> None:
    before = mode(FULL)

    async def script(session: ShellSession) -> list[CommandResult]:
        lines = (f"chmod 600 {FULL}", f"echo x > /dev/null; head -c 1 {FULL} | wc -c")
        return [await session.execute(line, 60, "read") for line in lines]

    try:
        _, used = shells.run(script)
        assert mode(FULL) == before
    finally:
        FULL.chmod(before)
    assert (used.exit_code, used.stdout.strip(), used.stderr) == (0, "1", "")


@VIEWED
@pytest.mark.parametrize("shells", UIDS[:1], indirect=True)
def test_a_command_is_told_that_a_mode_was_restored(shells: Shells, monkeypatch: pytest.MonkeyPatch) -> None:
    device = shells.root / "device"  # the machine's own ones are restored by whichever process looks first
    device.touch()
    device.chmod(0o666)
    monkeypatch.setattr(starter, "device_modes", lambda: DeviceModes([str(device)]))

    async def script(session: ShellSession) -> CommandResult:
        return await session.execute("chmod 600 device", 60, "write")

    assert str(device) in shells.run(script).stderr
    assert mode(device) == 0o666
