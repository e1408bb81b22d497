"""Finding, starting and ending ripgrep."""

import os
import sys
import sysconfig
import time
from pathlib import Path

import pytest

from tests.searching import plant
from toolgate.process import landlock
from toolgate.process.streaming import Bounds
from toolgate.search import ripgrep
from toolgate.search.matches import Matches
from toolgate.workspace.threads import Stop, Stopped


def program() -> str:
    """The ripgrep of this environment."""
    found = ripgrep.find(None, "/project")
    assert found is not None
    return found


def bounds(seconds: float = 10) -> Bounds:
    return Bounds(deadline=time.monotonic() + seconds, stop=Stop())


def echo(tmp_path: Path, command: str) -> str:
    """A stand-in for ripgrep that is a shell script."""
    plant(tmp_path, {"bin/rg": f"#!/bin/sh\n{command}\n"})
    (tmp_path / "bin" / "rg").chmod(0o755)
    return str(tmp_path / "bin" / "rg")


def test_the_wheel_comes_first() -> None:
    assert program() == os.path.realpath(os.path.join(os.path.dirname(sys.executable), "rg"))


def test_path_is_searched_where_there_is_no_wheel(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    own = echo(tmp_path, "true")
    monkeypatch.setattr(sys, "executable", "/nowhere/python")
    monkeypatch.setattr(sysconfig, "get_path", lambda *_: "/nowhere")
    monkeypatch.setenv("PATH", f"relative:{tmp_path}/bin")

    ripgrep._found.cache_clear()
    try:
        assert ripgrep.find(None, "/project") == own
    finally:
        ripgrep._found.cache_clear()


@pytest.mark.parametrize("setting", ["", "rg", "/nowhere/rg", "/etc/passwd"])
def test_a_setting_that_names_no_program_means_none(setting: str) -> None:
    assert ripgrep.find(setting, "/project") is None


def test_a_setting_names_the_program() -> None:
    assert ripgrep.find(program(), "/project") == program()


@pytest.mark.parametrize("pattern", ["--pre=x", "-e", "--", "-"])
def test_a_pattern_is_bound_to_its_option(pattern: str) -> None:
    out = ripgrep.arguments(ripgrep.Query(pattern=pattern, directory=3), None)

    assert out[-3:] == [f"--regexp={pattern}", "--", "./"]


def test_the_environment_is_minimal(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("RIPGREP_CONFIG_PATH", str(tmp_path / "config"))
    monkeypatch.setenv("X_API_TOKEN", "canary")
    fake = echo(tmp_path, "env | while read line; do printf 'e\\0001\\000M%s\\n' \"$line\"; done")
    fd = os.open(tmp_path, os.O_RDONLY)
    found = Matches(limit=100)

    try:
        ripgrep.search(fake, ripgrep.Query(pattern="x", directory=fd, root=fd), found, bounds())
    finally:
        os.close(fd)

    names = {match["text"].partition("=")[0] for match in found.first(0, 0, "")[0]}
    assert names <= {"PATH", "LC_ALL", "PWD", "OLDPWD", "SHLVL", "_"}


def test_only_the_standard_descriptors_are_passed_on(tmp_path: Path) -> None:
    fake = echo(
        tmp_path, 'for fd in $(seq 0 99); do [ -e /proc/$$/fd/$fd ] && printf "$fd\\\\0001\\\\000Mx\\\\n"; done; true'
    )
    fd = os.open(tmp_path, os.O_RDONLY)
    found = Matches(limit=100)

    try:
        ripgrep.search(fake, ripgrep.Query(pattern="x", directory=fd), found, bounds())
    finally:
        os.close(fd)

    assert {int(match["file"]) for match in found.first(0, 0, "")[0]} <= {0, 1, 2, 3, 10, 11}


@pytest.mark.skipif(landlock.version() == 0, reason="the kernel has no Landlock; run on Linux 5.13 or newer")
def test_nothing_outside_the_root_can_be_read(tmp_path: Path) -> None:
    plant(tmp_path, {"root/a": "needle in", "out/b": "needle out"})
    root = os.open(tmp_path / "root", os.O_RDONLY)
    found = Matches(limit=100)
    query = ripgrep.Query(pattern="needle", directory=root, root=root)
    real = ripgrep.arguments

    try:
        with pytest.MonkeyPatch.context() as patch:
            patch.setattr(ripgrep, "arguments", lambda *args: [*real(*args), "../out/b", str(tmp_path / "out")])
            ripgrep.search(program(), query, found, bounds())
    finally:
        os.close(root)

    assert [match["text"] for match in found.first(0, 0, "")[0]] == ["needle in"]
    assert set(found.skipped.values()) == {"unreadable: Permission denied"}


def test_a_process_that_does_not_end_is_ended_at_the_deadline(tmp_path: Path) -> None:
    fake = echo(tmp_path, "printf 'a\\0001\\000Mx\\n'; exec sleep 60")
    fd = os.open(tmp_path, os.O_RDONLY)
    found = Matches(limit=100)
    started = time.monotonic()

    try:
        ending = ripgrep.search(fake, ripgrep.Query(pattern="x", directory=fd), found, bounds(0.3))
    finally:
        os.close(fd)

    assert (ending.complete, found.total) == (False, 1)
    assert time.monotonic() - started < 30  # the process would sleep for twice as long


def test_a_process_is_ended_when_nobody_waits(tmp_path: Path) -> None:
    fake = echo(tmp_path, "exec sleep 60")
    fd = os.open(tmp_path, os.O_RDONLY)
    stop = Stop()
    stop.set()
    started = time.monotonic()

    try:
        with pytest.raises(Stopped):
            ripgrep.search(
                fake,
                ripgrep.Query(pattern="x", directory=fd),
                Matches(limit=1),
                Bounds(deadline=started + 60, stop=stop),
            )
    finally:
        os.close(fd)

    assert time.monotonic() - started < 30  # the process would sleep for twice as long
