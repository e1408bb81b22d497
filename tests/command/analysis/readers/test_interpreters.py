"""Programs that run code: shells, and interpreters of other languages."""

import dataclasses

import pytest

from tests.command.analysis.kit import PROJECT, dangers
from toolgate.command.analysis import analyse


@pytest.mark.parametrize(
    ("command", "reason"),
    [
        ("bash -c ls", ""),
        ("bash -c 'rm x'", "'rm': it removes files"),
        ("sh run.sh", "in 'run.sh': 'rm': it removes files"),
        (". run.sh", "in 'run.sh': 'rm': it removes files"),
        (". -- run.sh", "in 'run.sh': 'rm': it removes files"),
        ("bash --posix run.sh", "in 'run.sh': 'rm': it removes files"),
        ("bash --verbose run.sh", "in 'run.sh': 'rm': it removes files"),
        ("bash < run.sh", "in 'run.sh': 'rm': it removes files"),
        (". /dev/stdin < run.sh", "in 'run.sh': 'rm': it removes files"),
        ("bash /dev/./stdin < run.sh", "in 'run.sh': 'rm': it removes files"),
        ("bash //dev/stdin < run.sh", "in 'run.sh': 'rm': it removes files"),
        ("bash < run.sh 3< f", "in 'run.sh': 'rm': it removes files"),
        ("exec < run.sh; bash", "in 'run.sh': 'rm': it removes files"),
        ("command exec 0< run.sh; bash", "in 'run.sh': 'rm': it removes files"),
        ("{ exec < run.sh; }; bash", "in 'run.sh': 'rm': it removes files"),
        ("exec <<< 'rm x'; bash", "'rm': it removes files"),
        ("bash <<< 'exec < run.sh'", "in 'run.sh': 'rm': it removes files"),
        ("f() { bash; }; f < run.sh", "in 'run.sh': 'rm': it removes files"),
        ("function f { bash; }; f <<< 'rm x'", "'rm': it removes files"),
        ("eval 'rm x'", "'rm': it removes files"),
        ("trap 'rm x' EXIT", "'rm': it removes files"),
        ("alias l='rm x'", "'rm': it removes files"),
    ],
)
def test_code_for_a_shell_is_analysed(command: str, reason: str) -> None:
    assert dangers(command) == reason


@pytest.mark.parametrize(
    ("command", "reason"),
    [
        ("ls | bash", "'bash' runs what it reads from a pipe"),
        ('bash -c "$x"', "what 'bash' runs is only known when it runs"),
        ("fish -c 'ls'", "'fish' runs code that is not bash's"),
        ("bash <&3 3< run.sh", "'bash' runs what it reads from a pipe"),
        ("exec 3< run.sh; bash <&3", "'bash' runs what it reads from a pipe"),
        ("bash /dev/fd/3 3< run.sh", "'bash' runs what it reads from '/dev/fd/3'"),
        ("bash /tmp/run.sh", "the script '/tmp/run.sh' cannot be read before it runs"),
        (". /tmp/run.sh", "the script '/tmp/run.sh' cannot be read before it runs"),
    ],
)
def test_code_that_is_not_known_asks(command: str, reason: str) -> None:
    assert dangers(command) == reason


@pytest.mark.parametrize(
    "command",
    [
        "f() { cat; }; f < run.sh",
        "f() { f; }; f < run.sh",
        "(exec < run.sh); bash",
        "exec < run.sh; cat",
        "exec 3< run.sh; cat <&3",
        "bash 3< run.sh",
        "exec 2>&1; bash -c ls",
        "python3 /tmp/run.py",
        "bash --norc -c ls",
    ],
)
def test_control_a_file_that_no_shell_reads_is_no_code(command: str) -> None:
    assert dangers(command) == ""


@pytest.mark.parametrize(
    ("command", "reason"),
    [
        ("python3 -c 'print(1)'", ""),
        ("python3 -mtimeit 'os.remove(1)'", "the code that 'timeit' runs mentions 'os.remove'"),
        ("python3 -Bm timeit 'os.remove(1)'", "the code that 'timeit' runs mentions 'os.remove'"),
        ("python3 -c 'os.remove(1)'", "the code that 'python3' runs mentions 'os.remove'"),
        ("python3 -m pytest", ""),
        ("sqlite3 db 'select 1'", ""),
        ("sqlite3 db 'drop table x'", "it removes data from a database"),
        ("less +G f", ""),
        ("less '+!rm x' f", "'less' is given commands, which may run programs or write files"),
    ],
)
def test_code_of_other_languages_is_searched(command: str, reason: str) -> None:
    assert dangers(command) == reason


@pytest.mark.parametrize(
    ("command", "reason"),
    [
        ("python3 -m venv --clear x", "'venv': it removes files"),
        ("python3 -mvenv --clear x", "'venv': it removes files"),
        ("python3.12 -Im venv --clear x", "'venv': it removes files"),
        ("pypy -W ignore -Xdev -m venv --clear x", "'venv': it removes files"),
        ("python3 --check-hash-based-pycs always -m venv --clear x", "'venv': it removes files"),
        ("python3 -mtimeit 'os.remove(1)'", "the code that 'timeit' runs mentions 'os.remove'"),
        ("python3 -m twine upload x", "'twine': it publishes"),
        ("python3 -m twine check x", ""),
        ("python3 s.py -m venv --clear x", ""),
        ("python3 -c 'print(1)' -m venv --clear x", ""),
        ("perl -mvenv --clear x", ""),
        ("python3 -m", ""),
    ],
)
def test_a_module_of_python_is_known_however_it_is_named(command: str, reason: str) -> None:
    assert dangers(command) == reason


SOURCED = dataclasses.replace(PROJECT, sourced={"setup": "run.sh"}.get)


@pytest.mark.parametrize("command", [". setup", "source setup", "bash setup"])
def test_a_script_that_path_finds_is_analysed(command: str) -> None:
    assert analyse(command, SOURCED).reason == "in 'run.sh': 'rm': it removes files"


@pytest.mark.parametrize("command", ["PATH=$PATH:src; . setup", "PATH=src . setup", "export PATH=src; bash setup"])
def test_a_script_that_a_changed_path_finds_asks(command: str) -> None:
    assert "'PATH' is changed before" in dangers(command)


@pytest.mark.parametrize("command", [". ./setup", ". src/setup", "PATH=$PATH:src; . ./setup"])
def test_control_a_script_with_a_directory_in_its_name_is_not_looked_up(command: str) -> None:
    assert analyse(command, SOURCED).reason == ""
