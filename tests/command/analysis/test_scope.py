"""What is known at one point of a command line: directories, files that are written, scripts that run."""

import pytest

from toolgate.command.analysis import CommandPlan, Kind, Surroundings, analyse


def kind(path: str) -> Kind:
    return {"f": "file", "src": "directory", "build": "directory", ".": "directory"}.get(path, "absent")  # type: ignore[return-value]


AROUND = Surroundings(root="/project", home="/home/user", kind=kind)


def plan(command: str, around: Surroundings = AROUND) -> CommandPlan:
    return analyse(command, around)


@pytest.mark.parametrize(
    ("command", "written", "danger"),
    [
        ("echo x > f", (">", "f"), "it overwrites 'f', which exists"),
        ("echo x >> f", (">>", "f"), None),
        ("echo x > new", (">", "new"), None),
        ("echo x > ../f", (">", "../f"), "'../f' is outside the root"),
        ("echo x > src/../f", (">", "src/../f"), "it overwrites 'src/../f', which exists"),
        ("echo x > /project/f", (">", "/project/f"), "it overwrites '/project/f', which exists"),
        ("echo x > /project/../f", (">", "/project/../f"), "'/project/../f' is outside the root"),
        ("echo x > /project-evil/f", (">", "/project-evil/f"), "'/project-evil/f' is outside the root"),
        ("cd src && echo x > ../f", (">", "../f"), "it overwrites '../f', which exists"),
        ("tee f", (">", "f"), "it overwrites 'f', which exists"),
        ("dd if=x of=f", (">", "f"), "it overwrites 'f', which exists"),
        ("sort -o f x", (">", "f"), "it overwrites 'f', which exists"),
        ("git diff --output f", (">", "f"), "it overwrites 'f', which exists"),
        ("curl -o f http://localhost", (">", "f"), "it overwrites 'f', which exists"),
    ],
)
def test_files_that_are_written_are_known(command: str, written: tuple[str, str], danger: str | None) -> None:
    found = plan(command)
    assert _written(found) == [written]
    assert found.dangers == (() if danger is None else (danger,))


@pytest.mark.parametrize("command", ["ls >/dev/null", "ls 2>&1", "ls >&-", "ls < f", "cat <<< x"])
def test_nothing_is_written_where_nothing_is(command: str) -> None:
    assert _written(plan(command)) == []


def _written(found: CommandPlan) -> list[tuple[str, ...]]:
    return [words for words in found.commands if words[0] in (">", ">>")]


@pytest.mark.parametrize(
    ("command", "scripts"),
    [
        ("./run.sh", ("run.sh",)),
        ("bash run.sh a b", ("run.sh",)),
        ("bash -x ./run.sh", ("run.sh",)),
        (". ./env", ("env",)),
        ("source src/env", ("src/env",)),
        ("python3 a.py --x", ("a.py",)),
        ("node src/a.js", ("src/a.js",)),
        ("sh < run.sh", ("run.sh",)),
        ("timeout 5 ./run.sh", ("run.sh",)),
        ("cd src && ./x", ("src/x",)),
        ("find . -exec ./x {} \\;", ("x",)),
        ("ls", ()),
        ("bash -c ls", ()),
        ("python3 -m pytest", ()),
    ],
)
def test_scripts_that_run_are_known_so_that_their_content_can_be_hashed(command: str, scripts: tuple[str, ...]) -> None:
    assert plan(command).scripts == scripts


@pytest.mark.parametrize(
    "command", ["cd build && cat ../f", "(cd build; cat ../f)", "mkdir x && cd x && cat ../f", "pushd src; ls .."]
)
def test_directories_are_followed(command: str) -> None:
    assert not plan(command).asks


@pytest.mark.parametrize(
    "command",
    [
        "cd build && cat ../../f",
        "(cd build); cat ../f",
        "cd nothere; cat ../f",
        "cd build | cat ../f",
        "if cd nothere; then ls; fi; cat ../f",
        "cd $x && cat ../f",
        "cd build || cat ../../f",
        "cd ..",
        "cd",
        "cd /",
    ],
)
def test_directories_that_may_lead_outside_ask(command: str) -> None:
    assert plan(command).asks


def test_the_shells_directory_is_where_paths_start() -> None:
    assert not plan("cat ../f", Surroundings(root="/project", cwd="src")).asks
    assert plan("cat ../../f", Surroundings(root="/project", cwd="src")).asks
    assert plan("cat f", Surroundings(root="/project", cwd="/etc")).commands == (("cat", "f"),)
