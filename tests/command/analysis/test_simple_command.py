"""One simple command: which program it is, in the state of this shell."""

import pytest

from toolgate.command.analysis import CommandPlan, Kind, Surroundings, analyse


def kind(path: str) -> Kind:
    return {"f": "file", "src": "directory", "build": "directory", ".": "directory"}.get(path, "absent")  # type: ignore[return-value]


AROUND = Surroundings(root="/project", home="/home/user", kind=kind)


def plan(command: str, around: Surroundings = AROUND) -> CommandPlan:
    return analyse(command, around)


@pytest.mark.parametrize(
    ("functions", "command"),
    [
        ({"ls": "ls () \n{ \n    rm -rf x\n}"}, "ls"),
        ({"f": "f () \n{ \n    g\n}", "g": "g () \n{ \n    rm x\n}"}, "f"),
        ({"f": "f () \n{ \n    f\n    rm x\n}"}, "f a b"),
        ({"git": "git () \n{ \n    rm x\n}"}, "timeout 5 ls; git log"),
    ],
)
def test_a_function_counts_as_what_it_runs(functions: dict[str, str], command: str) -> None:
    found = plan(command, Surroundings(functions=functions))
    assert ("rm", "x") in found.commands or ("rm", "-rf", "x") in found.commands
    assert found.asks


def test_a_function_is_not_called_by_its_quoted_or_full_name() -> None:
    around = Surroundings(functions={"ls": "ls () \n{ \n    rm x\n}"})
    assert plan("/bin/ls", around).commands == (("ls",),)


@pytest.mark.parametrize("command", ["ls -la", "true && ls"])
def test_an_alias_counts_as_what_it_runs(command: str) -> None:
    found = plan(command, Surroundings(aliases={"ls": "rm x;"}))
    assert ("rm", "x") in found.commands


def test_a_quoted_word_is_no_alias() -> None:
    assert plan("\\ls", Surroundings(aliases={"ls": "rm x"})).commands == (("ls",),)


def test_a_well_known_word_that_path_finds_in_the_root_asks() -> None:
    around = Surroundings(shadows=lambda word: f"bin/{word}" if word in ("ls", "tool") else None)
    assert plan("ls", around).dangers == ("'ls' is 'bin/ls' here, because 'PATH' finds that first",)
    assert plan("ls", around).scripts == ("bin/ls",)
    assert not plan("tool", around).asks


def test_the_projects_own_programs_may_be_put_in_path() -> None:
    assert not plan("export PATH=$PWD/.venv/bin:$PATH && pytest").asks
    assert plan("export PATH=$PWD/bin:$PATH && ls").asks
