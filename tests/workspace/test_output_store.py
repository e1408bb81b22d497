"""Files for whole outputs."""

import os
import tempfile
import time
from pathlib import Path

import pytest

from toolgate.errors import ToolError
from toolgate.protocol.codes import ErrorCode
from toolgate.workspace import Workspace
from toolgate.workspace.output_store import OutputStore, file_stem
from toolgate.workspace.threads import Stop, Stopped

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


def test_the_name_carries_the_time_in_utc_and_the_label() -> None:
    assert file_stem("grep", NOON) == "tool_20231114_221320_grep"


@pytest.mark.parametrize(
    ("label", "safe"),
    [("a/../b", "a_b"), ("x\0y", "x_y"), ("..", "tool"), ("", "tool"), ("x" * 300, "x" * 64), ("é -rf", "-rf")],
)
def test_whatever_is_unsafe_in_a_label_is_replaced(label: str, safe: str) -> None:
    assert file_stem(label, NOON) == f"tool_20231114_221320_{safe}"


def test_file_directory_and_ignore_file_are_private(root: Path) -> None:
    path = keep(root)
    modes = {item.name: oct(item.stat().st_mode & 0o777) for item in (root / "tool-output").iterdir()}
    assert (path, modes) == (
        "tool-output/tool_20231114_221320_grep.json",
        {"tool_20231114_221320_grep.json": "0o600", ".gitignore": "0o600"},
    )
    assert oct((root / "tool-output").stat().st_mode & 0o777) == "0o700"
    assert (root / "tool-output" / ".gitignore").read_text() == "*\n"


def test_a_name_that_is_taken_gets_a_number(root: Path) -> None:
    assert [keep(root) for _ in range(3)] == [
        "tool-output/tool_20231114_221320_grep.json",
        "tool-output/tool_20231114_221320_grep_2.json",
        "tool-output/tool_20231114_221320_grep_3.json",
    ]


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


def test_a_link_in_place_of_a_file_is_not_followed(root: Path, tmp_path: Path) -> None:
    (root / "tool-output").mkdir()
    (root / "tool-output" / "tool_20231114_221320_grep.json").symlink_to(tmp_path / "evil")
    assert keep(root) == "tool-output/tool_20231114_221320_grep_2.json"
    assert not (tmp_path / "evil").exists()


def test_a_failed_write_leaves_no_file(root: Path) -> None:
    store = OutputStore(Workspace(root), "tool-output", 7)
    with pytest.raises(ZeroDivisionError), store.create("grep", NOON) as (_, file):
        file.write(b"half" * (1 // len("")))
    assert [item.name for item in (root / "tool-output").iterdir()] == [".gitignore"]


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
    file = directory / "output"
    file.write_bytes(content)
    file.chmod(0o600)
    return str(file)


def test_a_file_of_the_same_file_system_is_added_without_a_copy(root: Path, tmp_path: Path, store: OutputStore) -> None:
    source = private(tmp_path)
    path = store.add_file("Bash_stdout", NOON, source)

    assert path == "tool-output/tool_20231114_221320_Bash_stdout.log"
    assert (root / path).samefile(source)
    assert oct((root / path).stat().st_mode & 0o777) == "0o600"


@pytest.mark.skipif(not os.access("/dev/shm", os.W_OK), reason="needs a second file system: mount a tmpfs at /dev/shm")
def test_a_file_of_another_file_system_is_copied(root: Path, store: OutputStore) -> None:
    with tempfile.TemporaryDirectory(dir="/dev/shm") as elsewhere:
        path = store.add_file("Bash_stdout", NOON, private(Path(elsewhere), b"x" * 5_000_000))

    assert (root / path).stat().st_size == 5_000_000
    assert oct((root / path).stat().st_mode & 0o777) == "0o600"


def test_a_file_that_others_may_read_is_copied_privately(root: Path, tmp_path: Path, store: OutputStore) -> None:
    source = Path(private(tmp_path))
    source.chmod(0o644)
    path = store.add_file("Bash_stdout", NOON, str(source))

    assert ((root / path).read_bytes(), oct((root / path).stat().st_mode & 0o777)) == (b"whole\xff\n", "0o600")
    assert not (root / path).samefile(source)


def test_names_of_added_files_are_unique(tmp_path: Path, store: OutputStore) -> None:
    source = private(tmp_path)

    assert store.add_file("Bash", NOON, source) != store.add_file("Bash", NOON, source)


def test_a_link_is_not_added(root: Path, tmp_path: Path, store: OutputStore) -> None:
    link = tmp_path / "link"
    link.symlink_to(private(tmp_path))
    with pytest.raises(ToolError):
        store.add_file("Bash", NOON, str(link))
    with pytest.raises(ToolError):
        store.add_file("Bash", NOON, str(tmp_path))

    assert not (root / "tool-output").exists()


def test_a_stopped_copy_leaves_nothing(root: Path, tmp_path: Path, store: OutputStore) -> None:
    source = Path(private(tmp_path))
    source.chmod(0o644)
    stop = Stop()
    stop.set()
    with pytest.raises(Stopped):
        store.add_file("Bash", NOON, str(source), stop)

    assert [path.name for path in (root / "tool-output").iterdir()] == [".gitignore"]


def test_the_oldest_added_files_give_way(
    root: Path, tmp_path: Path, store: OutputStore, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("toolgate.workspace.output_directory.MOST_ADOPTED", 25)
    kept = keep(root)
    for number in range(4):
        source = tmp_path / f"output{number}"
        source.write_bytes(b"0123456789")
        os.utime(source, (NOON + number, NOON + number))
        source.chmod(0o600)
        store.add_file("Bash", NOON + number, str(source))

    names = sorted(path.name for path in (root / "tool-output").iterdir() if path.suffix == ".log")
    assert names == ["tool_20231114_221322_Bash.log", "tool_20231114_221323_Bash.log"]
    assert (root / kept).exists()


def test_old_added_files_are_swept(root: Path, tmp_path: Path, store: OutputStore) -> None:
    source = Path(private(tmp_path))
    os.utime(source, (NOON - 8 * DAY, NOON - 8 * DAY))
    path = store.add_file("Bash", NOON - 8 * DAY, str(source))
    keep(root, store=OutputStore(Workspace(root), "tool-output", 7))

    assert not (root / path).exists()
