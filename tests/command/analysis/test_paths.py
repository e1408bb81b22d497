"""Paths outside the root: what the sandbox shows may be read, everything else is asked about."""

from pathlib import Path

import pytest

from tests.support.toolbox import Toolbox
from toolgate.command.analysis import Surroundings, analyse
from toolgate.shell.surroundings import surroundings
from toolgate.workspace import Workspace

AROUND = Surroundings(root="/project", home="/home/user", hidden=frozenset({"/etc/shadow", "/etc/ssl/private"}))


@pytest.mark.parametrize(
    "command",
    ["cat /etc/hosts", "grep -r x /usr/include", "find / -name x", "head /proc/cpuinfo", "ls /opt", "wc < /etc/hosts"],
)
def test_reading_what_the_sandbox_shows_is_no_danger(command: str) -> None:
    assert analyse(command, AROUND).dangers == ()


@pytest.mark.parametrize(
    "command",
    [
        "cat /etc/shadow",
        "cat /etc/ssl/private/key.pem",
        "cat /home/other/.ssh/id",
        "cat /root/x",
        "cat /etc/../root/x",
        "cat /proc/1/environ",
        "cat /proc/self/root/home/x",
        "cat /proc/thread-self/cwd/x",
        "cat /var/log/syslog",
        "cat /etc/$name",
        "cat ~/x",
        "sed -i s/a/b/ /etc/hosts",
        "touch /usr/x",
        "echo x > /etc/x",
        "find /usr -exec touch {} +",
        "cp x /usr/bin/",
        "mv /etc/hosts .",
        "bash /usr/share/x.sh",
        "cd /etc",
    ],
)
def test_everything_else_outside_the_root_is_asked_about(command: str) -> None:
    assert analyse(command, AROUND).asks


def test_a_rule_that_allows_a_command_does_not_cover_paths_outside_the_root() -> None:
    plan = analyse("cat /etc/hosts", AROUND)
    assert plan.commands == (("cat", "/etc/hosts"), ("..", "/etc/hosts"))
    assert not plan.plain


def test_a_pattern_stands_for_what_it_finds(tmp_path: Path) -> None:
    (tmp_path / "README.md").write_text("x")
    (tmp_path / "docs").mkdir()
    (tmp_path / "docs/a.txt").write_text("x")
    (tmp_path / "a.txt").write_text("x")
    (tmp_path / "b.txt").write_text("x")
    box = Toolbox(tmp_path)
    around = surroundings(Workspace(tmp_path), box.context.shell.fresh_state())
    asks = {
        command: analyse(command, around).reason
        for command in (
            "cp /dev/null README.m*",
            "cp /dev/null *.rst",
            "cp b.* docs/",
            "cp *.txt docs/",
            "cp */a.txt c.txt",
        )
    }
    assert asks == {
        "cp /dev/null README.m*": "it overwrites 'README.md', which exists",
        "cp /dev/null *.rst": "",
        "cp b.* docs/": "",
        "cp *.txt docs/": "it overwrites 'docs/a.txt', which exists",
        "cp */a.txt c.txt": "",
    }


def test_a_directory_with_too_many_names_is_not_known(tmp_path: Path) -> None:
    for number in range(2001):
        (tmp_path / f"{number}.txt").touch()
    box = Toolbox(tmp_path)
    around = surroundings(Workspace(tmp_path), box.context.shell.fresh_state())
    assert analyse("cp /dev/null *.rst", around).asks
