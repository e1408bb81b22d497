"""Tasks as TOML, and what a wrong one gets."""

from pathlib import Path

import pytest

from toolgate.errors import ConfigError
from toolgate.evaluation import load_tasks

GOOD = 'message = "Fix it"\n[[check]]\ncommand = "true"\n'


@pytest.fixture
def tasks(tmp_path: Path) -> Path:
    (tmp_path / "workspace").mkdir()
    return tmp_path


def test_a_task_is_a_file_or_a_folder(tasks: Path) -> None:
    (tasks / "flat.toml").write_text(GOOD)
    (tasks / "deep" / "start").mkdir(parents=True)
    (tasks / "deep" / "task.toml").write_text(f'workspace = "start"\nmode = "chat_safe"\n{GOOD}')
    deep, flat = load_tasks(tasks)
    assert (deep.name, deep.workspace, deep.mode) == ("deep", (tasks / "deep" / "start").resolve(), "chat_safe")
    assert (flat.name, flat.message, str(flat.check[0])) == ("flat", "Fix it", "command 'true'")


@pytest.mark.parametrize(
    ("text", "said"),
    [
        ("message =", "is not TOML"),
        ('message = "x"\n', "check: Field required"),
        ('message = "x"\ncheck = []\n', "check: "),
        ('[[check]]\ncommand = "true"\n', 'needs either message = "…" or [[call]]'),
        (f'{GOOD}[[call]]\ntool = "ls"\n', 'needs either message = "…" or [[call]]'),
        (f"mesage = 1\n{GOOD}", "mesage: is not a key of a task"),
        (f'mode = "code"\n{GOOD}', "mode: "),
        (f'workspace = "gone"\n{GOOD}', "is not a directory"),
        (f"workspace = 7\n{GOOD}", "workspace must be the name of a directory"),
        ('message = "x"\n[[check]]\n', 'check.0: needs either command = "…" or file = "…"'),
        ('message = "x"\n[[check]]\ncommand = "true"\ncontains = "x"\n', "they are for a file"),
        ('message = "x"\n[[check]]\nfile = "a"\nmatches = "("\n', "not a regular expression"),
        (f"timeout = 0\n{GOOD}", "timeout: "),
    ],
)
def test_a_mistake_is_named_with_its_file_and_nothing_is_loaded(tasks: Path, text: str, said: str) -> None:
    (tasks / "bad.toml").write_text(text)
    (tasks / "good.toml").write_text(GOOD)
    with pytest.raises(ConfigError) as refused:
        load_tasks(tasks)
    assert str(refused.value).startswith(f"{tasks / 'bad.toml'}: ")
    assert said in str(refused.value)


def test_two_tasks_of_one_name_are_refused(tasks: Path) -> None:
    for name in ("a", "b"):
        (tasks / f"{name}.toml").write_text(f'name = "same"\n{GOOD}')
    with pytest.raises(ConfigError, match="two tasks are called 'same': rename one"):
        load_tasks(tasks)


def test_a_directory_without_tasks_is_refused(tasks: Path) -> None:
    with pytest.raises(ConfigError, match="there are no tasks in it"):
        load_tasks(tasks)
    with pytest.raises(ConfigError, match="Name a directory with tasks"):
        load_tasks(tasks / "gone")
