"""The directory of outputs: private, ignored by git, never a link; old outputs are removed."""

import os
import time
from pathlib import Path

import pytest

from toolgate.errors import ToolError
from toolgate.protocol.codes import ErrorCode
from toolgate.workspace import Workspace
from toolgate.workspace.output_store import OutputStore

NOON = 1_700_000_000.0
DAY = 86_400.0


@pytest.fixture
def root(tmp_path: Path) -> Path:
    directory = tmp_path / "root"
    directory.mkdir()
    return directory


def keep(root: Path, now: float = NOON, directory: str = "tool-output", store: OutputStore | None = None) -> str:
    store = store or OutputStore(Workspace(root), directory, 7)
    with store.create("grep", now) as (path, file):
        file.write(b"kept")
    return path


def test_file_directory_and_ignore_file_are_private(root: Path) -> None:
    path = keep(root)
    modes = {item.name: oct(item.stat().st_mode & 0o777) for item in (root / "tool-output").iterdir()}
    assert (path, modes) == (
        "tool-output/tool_20231114_221320_grep.json",
        {"tool_20231114_221320_grep.json": "0o600", ".gitignore": "0o600"},
    )
    assert oct((root / "tool-output").stat().st_mode & 0o777) == "0o700"
    assert (root / "tool-output" / ".gitignore").read_text() == "*\n"


def test_directories_on_the_way_are_made(root: Path) -> None:
    assert keep(root, directory="var/out") == "var/out/tool_20231114_221320_grep.json"


def test_a_directory_with_other_things_in_it_is_not_hidden_from_git(root: Path) -> None:
    (root / "docs").mkdir()
    (root / "docs" / "index.md").write_text("mine")
    keep(root, directory="docs")
    assert not (root / "docs" / ".gitignore").exists()


@pytest.mark.parametrize("directory", ["tool-output", "tool-output/deep"])
def test_a_link_in_place_of_the_directory_is_refused(root: Path, tmp_path: Path, directory: str) -> None:
    (tmp_path / "evil").mkdir()
    (root / "tool-output").symlink_to("../evil")
    with pytest.raises(ToolError) as caught:
        keep(root, directory=directory)
    assert caught.value.code is ErrorCode.ACCESS_DENIED
    assert list((tmp_path / "evil").iterdir()) == []


def test_a_link_that_stays_inside_is_refused_too(root: Path) -> None:
    (root / "src").mkdir()
    (root / "tool-output").symlink_to("src")
    with pytest.raises(ToolError):
        keep(root)
    assert list((root / "src").iterdir()) == []


def test_a_file_in_place_of_the_directory_is_refused(root: Path) -> None:
    (root / "tool-output").write_text("mine")
    with pytest.raises(ToolError):
        keep(root)
    assert (root / "tool-output").read_text() == "mine"


def old(root: Path, name: str, age: float) -> Path:
    path = root / "tool-output" / name
    path.parent.mkdir(exist_ok=True)
    path.write_text("old")
    os.utime(path, (NOON - age, NOON - age))
    return path


def test_old_files_of_ours_are_removed_and_nothing_else(root: Path) -> None:
    names = ["tool_20231101_000000_grep.json", "tool_20231101_000000_grep_2.json", "notes.json", "tool_x.json"]
    for name in names:
        old(root, name, 8 * DAY)
    old(root, "tool_20231108_221321_ls.json", 7 * DAY - 1)
    keep(root)
    assert sorted(item.name for item in (root / "tool-output").iterdir()) == [
        "notes.json",
        "tool_20231108_221321_ls.json",
        "tool_20231114_221320_grep.json",
        "tool_x.json",
    ]


def test_a_link_or_directory_with_an_old_name_stays(root: Path, tmp_path: Path) -> None:
    (tmp_path / "evil").write_text("theirs")
    (root / "tool-output").mkdir()
    link = root / "tool-output" / "tool_20231101_000000_grep.json"
    link.symlink_to(tmp_path / "evil")
    (root / "tool-output" / "tool_20231101_000000_ls.json").mkdir()
    keep(root, now=time.time() + 30 * DAY)
    assert link.is_symlink()
    assert (tmp_path / "evil").read_text() == "theirs"


def test_the_directory_is_swept_once_an_hour(root: Path) -> None:
    store = OutputStore(Workspace(root), "tool-output", 7)
    keep(root, store=store)
    path = old(root, "tool_20231101_000000_grep.json", 8 * DAY)
    keep(root, now=NOON + 3599, store=store)
    assert path.exists()
    keep(root, now=NOON + 3600, store=store)
    assert not path.exists()


@pytest.fixture
def store(root: Path) -> OutputStore:
    return OutputStore(Workspace(root), "tool-output", 7)


def private(directory: Path, content: bytes = b"whole\xff\n") -> str:
    file = directory / "spill"
    file.write_bytes(content)
    file.chmod(0o600)
    return str(file)


def test_the_oldest_adopted_files_give_way(
    root: Path, tmp_path: Path, store: OutputStore, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("toolgate.workspace.output_directory.MAX_ADOPTED", 25)
    kept = keep(root)
    for number in range(4):
        source = tmp_path / f"spill{number}"
        source.write_bytes(b"0123456789")
        os.utime(source, (NOON + number, NOON + number))
        source.chmod(0o600)
        store.add_file("Bash", NOON + number, str(source))

    names = sorted(path.name for path in (root / "tool-output").iterdir() if path.suffix == ".log")
    assert names == ["tool_20231114_221322_Bash.log", "tool_20231114_221323_Bash.log"]
    assert (root / kept).exists()


def test_old_adopted_files_are_swept(root: Path, tmp_path: Path, store: OutputStore) -> None:
    source = Path(private(tmp_path))
    os.utime(source, (NOON - 8 * DAY, NOON - 8 * DAY))
    path = store.add_file("Bash", NOON - 8 * DAY, str(source))
    keep(root, store=OutputStore(Workspace(root), "tool-output", 7))

    assert not (root / path).exists()
