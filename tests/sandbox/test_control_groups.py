"""Control groups: what is left in one ends with it, and those of a killed host are swept."""

import asyncio
import os
import random
import signal
import subprocess
import time
from collections.abc import Callable, Iterator

import pytest

from tests.support.forks import Child
from tests.support.shells import EVERY_LAYER, Shells, processes_with
from toolgate.sandbox import control_groups as groups
from toolgate.sandbox.control_groups import ControlGroup


def eventually(condition: Callable[[], bool], seconds: float = 10.0) -> bool:
    end = time.monotonic() + seconds
    while not condition():
        if time.monotonic() > end:
            return False
        time.sleep(0.02)
    return True


@pytest.fixture
def group() -> Iterator[ControlGroup]:
    made = ControlGroup(processes=64, memory=1 << 30)
    if not made.limited:
        pytest.skip("no control group can be made here: run as root where one is writable")
    yield made
    made.remove()


def sleeping_in(group: ControlGroup, nap: str) -> subprocess.Popen[bytes]:
    join = "".join(f"echo 0 >&{fd}; " for fd in group.entrances)
    process = subprocess.Popen(["bash", "-c", f'{join} exec sleep "$0"', nap], pass_fds=group.entrances)
    assert eventually(lambda: any(str(process.pid) in groups._read(f"{path}/cgroup.procs") for path in group._paths))
    return process


def test_what_is_left_in_a_group_ends_with_it(group: ControlGroup) -> None:
    left = sleeping_in(group, "1000.01")
    group.remove()

    assert left.wait(60) == -signal.SIGKILL
    assert [path for path in group._paths if os.path.exists(path)] == []


def test_the_groups_of_a_killed_host_are_swept_and_those_of_a_living_one_are_not(
    group: ControlGroup, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(groups, "_YOUNG", 0.0)
    nap = f"1000.{random.randint(10**5, 10**6)}"

    async def host(say: Callable[[str], None]) -> None:
        made = ControlGroup(processes=64, memory=1 << 30)
        sleeping_in(made, nap)
        say(" ".join(made._paths))
        await asyncio.sleep(1000)

    child = Child(host)
    paths = child.line().split()
    living = ControlGroup(processes=64, memory=1 << 30)
    assert [path for path in paths if not os.path.exists(path)] == []
    child.kill()
    ControlGroup(processes=64, memory=1 << 30).remove()

    assert [path for path in paths if os.path.exists(path)] == []
    assert eventually(lambda: processes_with(f"sleep {nap}") == [])
    assert [path for path in (*living._paths, *group._paths) if not os.path.exists(path)] == []
    living.remove()


@EVERY_LAYER
def test_a_command_and_what_it_starts_are_members_without_a_descriptor_of_the_group(shells: Shells) -> None:
    result = shells.command("cat /proc/$$/cgroup; echo --; cat /proc/self/cgroup; echo --; ls -l /proc/$$/fd")
    shell, child, descriptors = result.stdout.split("--\n")

    assert result.sandbox is not None
    is_limited = "processes" in result.sandbox.limits and shells.uid == 0
    assert ("toolgate-" in shell, "toolgate-" in child) == (is_limited, is_limited)
    assert "cgroup.procs" not in descriptors


@EVERY_LAYER
def test_without_a_control_group_the_report_says_what_is_not_counted(shells: Shells) -> None:
    report = shells.command("true").sandbox

    assert report is not None
    total = [text for text in report.missing if "not for all together" in text]
    assert all("shared memory" in text for text in total)
    assert not set(total) & set(report.unconfined)
