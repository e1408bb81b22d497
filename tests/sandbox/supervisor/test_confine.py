"""The first process of the namespaces, which starts the command and is restricted like it."""

import pytest

from tests.support.shells import Shells

ONLY_NAMESPACES = pytest.mark.parametrize("layer", ["namespaces"], indirect=True)


@ONLY_NAMESPACES
def test_a_command_cannot_look_into_the_first_process_of_its_namespaces(shells: Shells) -> None:
    result = shells.command("for name in environ maps mem cwd; do head -c 1 /proc/1/$name && echo $name; done")

    assert result.stdout == ""
    assert result.stderr.count("Permission denied") == 4


@ONLY_NAMESPACES
def test_the_first_process_of_the_namespaces_is_filtered_like_the_command(shells: Shells) -> None:
    result = shells.command("grep -h -E '^(NoNewPrivs|Seccomp|CapEff|CapBnd):' /proc/1/status /proc/self/status")

    lines = result.stdout.splitlines()
    assert lines[:4] == lines[4:]
    assert "Seccomp:\t2" in lines


@ONLY_NAMESPACES
def test_a_command_without_a_terminal_is_the_first_of_its_session_and_ignores_no_signal(shells: Shells) -> None:
    result = shells.command("read -r _ _ _ _ _ session _ < /proc/$$/stat; echo $((session == $$)); trap -p PIPE XFSZ")

    assert result.stdout == "1\n"
