"""How much work one analysis may take: every input is analysed in linear time, or asks because it is too large."""

import itertools
import time

import pytest

from toolgate.agent_commands.router import parse
from toolgate.command.analysis import Surroundings, analyse, analyse_quickly

AROUND = Surroundings(root="/project", home="/home/user")
TOO_LARGE = "too large to analyse"
SECONDS = 15
"""Far more than any of these takes, and far less than the quadratic ones took."""
FAMILIES = {
    "directories": "cd a; " * 1500,
    "different directories": "".join(f"cd a{number}; " for number in range(1500)),
    "directories in branches": "if cd a; then ls; fi; " * 800,
    "directories that are made": "".join(f"mkdir a{number}; cd a{number}; " for number in range(1500)),
    "directories that are pushed": "pushd a; " * 1500,
    "wrappers with unknown options": "timeout -x " * 1500 + "1 ls",
    "written files and scripts": "".join(f"echo > f{number}; bash g{number}; " for number in range(800)),
    "marks": "xargs " + "".join(f"-I a{number} " for number in range(1500)) + "echo " + "a " * 3000,
    "operands": "tee " + "a " * 9000,
    "links": "ln -s " + "a " * 9000 + "b",
    "heredocs": "".join(f"cat <<E{number}\nx\nE{number}\n" for number in range(1500)),
    "heredocs of one line": "cat " + "".join(f" <<E{n}" for n in range(1500)) + "".join(f"\nE{n}" for n in range(1500)),
    "assignments": "".join(f"x{number}=1; " for number in range(2000)),
    "functions": "".join(f"f{number}() {{ ls; }}; " for number in range(1200)),
    "redirections": "ls " + " ".join(f"> f{number}" for number in range(2500)),
    "substitutions": "echo " + "$(ls)" * 4000,
    "nested substitutions": "echo " + "$(echo " * 2500 + ")" * 2500,
    "brackets": "(" * 9000 + "ls" + ")" * 9000,
    "brace expansion": "echo " + "{a,b}" * 4000,
    "globs": "ls " + "*?[a]" * 4000,
    "arrays": "a=(" + "x " * 9000 + ")",
    "arithmetic": "echo $((" + "1+" * 9000 + "1))",
    "long word": "ls " + "a" * 20_000,
    "long path": "ls " + "../" * 6000,
    "shells": "sh -c 'ls'; " * 1600,
    "remote shells": "ssh h " * 3000 + "ls",
    "code inside code": "eval " * 3000 + "ls",
    "quotes that are not closed": "echo '" * 3000,
    "pieces of what does not parse": "bash -c 'x; " * 1500,
}  # fmt: skip


@pytest.mark.parametrize("family", FAMILIES)
def test_twenty_kilobytes_are_analysed_in_linear_time(family: str) -> None:
    begin = time.process_time()
    analyse(FAMILIES[family], AROUND)
    assert time.process_time() - begin < SECONDS


@pytest.mark.parametrize("family", ["directories", "written files and scripts", "operands", "redirections", "shells"])
def test_twenty_kilobytes_of_ordinary_commands_are_not_too_large(family: str) -> None:
    assert TOO_LARGE not in analyse(FAMILIES[family], AROUND).reason


def test_a_busy_machine_makes_no_command_too_large(monkeypatch: pytest.MonkeyPatch) -> None:
    clock = itertools.count(step=60)
    monkeypatch.setattr(time, "monotonic", lambda: next(clock))
    assert TOO_LARGE not in analyse("ls && " * 100 + "ls", AROUND).reason


TOO_MUCH = {
    "shells": "sh -c 'ls; ls'; " * 12_000,
    "lists": "cd a && " * 30_000 + "rm x",
    "guesses": "timeout -x " * 60 + "1 ls",
    "pipes": "ls | " * 50_000,
}


@pytest.mark.parametrize("family", TOO_MUCH)
def test_what_is_too_large_asks(family: str) -> None:
    plan = analyse(TOO_MUCH[family], AROUND)
    assert plan.asks
    assert not plan.plain


def test_a_directory_that_may_be_one_of_too_many_is_unknown() -> None:
    plan = analyse("".join(f"cd a{number}; " for number in range(8)) + "echo x > new", AROUND)
    assert "only known when it runs" in plan.reason


def test_a_few_directories_are_followed() -> None:
    assert not analyse("cd a; cd b; echo x > new", AROUND).asks


def test_a_script_that_is_too_large_asks() -> None:
    around = Surroundings(root="/project", content=lambda _: "ls x\n" * 60_000)
    assert "the script 'big.sh' is too large to analyse" in analyse("bash big.sh", around).reason


def test_a_script_of_many_commands_is_looked_into() -> None:
    around = Surroundings(root="/project", content=lambda _: "ls x\n" * 3_000 + "rm x\n")
    plan = analyse("bash big.sh", around)
    assert plan.reason == "in 'big.sh': 'rm': it removes files"


def test_ordinary_commands_are_analysed_at_once() -> None:
    plan = analyse_quickly("cd src && FOO=1 pytest -q tests/test_a.py 2>&1 | tail -20", AROUND)
    assert plan == analyse("cd src && FOO=1 pytest -q tests/test_a.py 2>&1 | tail -20", AROUND)


@pytest.mark.parametrize("command", ["ls; " * 1500, "ls; " * 500, "bash long.sh"], ids=["long", "many", "script"])
def test_long_commands_are_left_to_a_thread(command: str) -> None:
    around = Surroundings(root="/project", content=lambda _: "ls x\n" * 3_000)
    assert analyse_quickly(command, around) is None


MEGABYTES = {
    "unwrapped shells": "bash " * 200_000,
    "kept jobs": "jobs keep " * 100_000,
    "words": "read " + "a " * 500_000,
    "quoted pieces": "write f " + "'a'" * 300_000,
    "options": "todo " + "--x " * 200_000,
    "escapes": "edit " + "\\a" * 500_000,
    "lines of a heredoc": "read <<E\n" + "a\n" * 500_000 + "E",
    "empty lines of a heredoc": "read <<'E'\n" + "\n" * 1_000_000 + "E",
}


@pytest.mark.parametrize("family", MEGABYTES)
def test_a_megabyte_is_routed_in_linear_time(family: str) -> None:
    begin = time.process_time()
    parse(MEGABYTES[family])
    assert time.process_time() - begin < SECONDS
