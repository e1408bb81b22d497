"""The environment of commands: an allow list, never the host's own."""

import pytest

from toolgate.process.environment import environment, git_environment, search_path

HOST = {
    "PATH": "/usr/bin:relative::/usr/bin/:/opt/x",
    "LANG": "de_DE.UTF-8",
    "LC_ALL": "C",
    "AWS_SECRET": "s",
    "MINE": "m",
}


def test_only_absolute_entries_of_path_count_and_each_once() -> None:
    assert search_path(HOST) == ("/usr/bin", "/opt/x")


@pytest.mark.parametrize("host", [{}, {"PATH": ""}, {"PATH": "relative:."}])
def test_without_a_usable_path_the_systems_own_is_used(host: dict[str, str]) -> None:
    assert "/usr/bin" in search_path(host)


def test_what_is_not_allowed_stays_out_and_what_the_operator_passes_comes_in() -> None:
    found = environment(HOST, path=["/usr/bin"], home="/h", temporary="/t", passed=["MINE", "MISSING"])

    assert "AWS_SECRET" not in found
    assert (found["MINE"], found["LANG"], found["LC_ALL"]) == ("m", "de_DE.UTF-8", "C")
    assert (found["PATH"], found["HOME"], found["TMPDIR"]) == ("/usr/bin", "/h", "/t")
    assert "MISSING" not in found


def test_the_host_cannot_set_what_is_fixed() -> None:
    found = environment({"TERM": "xterm"}, path=[], home="/h", temporary="/t", passed=["TERM", "HOME"])

    assert (found["TERM"], found["HOME"]) == ("dumb", "/h")


def test_git_that_may_write_finds_no_program_below_the_root_and_no_hook() -> None:
    base = environment({}, path=["/root/p/bin", "/root/p", "/root/pp", "/usr/bin"], home="/h", temporary="/t")
    found = git_environment(base, root="/root/p", git_directory="/root/p/.git", settings={"a.b": "c"})
    count = int(found["GIT_CONFIG_COUNT"])
    settings = {found[f"GIT_CONFIG_KEY_{number}"]: found[f"GIT_CONFIG_VALUE_{number}"] for number in range(count)}

    assert (found["PATH"], found["HOME"], found["GIT_CONFIG_GLOBAL"]) == ("/root/pp:/usr/bin", "/", "/dev/null")
    assert (settings["core.hooksPath"], settings["core.fsmonitor"], settings["a.b"]) == ("/dev/null", "false", "c")
