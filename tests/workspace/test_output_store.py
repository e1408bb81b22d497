"""Files for whole outputs."""

import os
import tempfile
from pathlib import Path

import pytest

from toolgate.errors import ToolError
from toolgate.workspace import Workspace
from toolgate.workspace.output_store import OutputStore, file_stem
from toolgate.workspace.threads import Stop, Stopped

NOON = 1_700_000_000.0


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


def test_a_name_that_is_taken_gets_a_number(root: Path) -> None:
    assert [keep(root) for _ in range(3)] == [
        "tool-output/tool_20231114_221320_grep.json",
        "tool-output/tool_20231114_221320_grep_2.json",
        "tool-output/tool_20231114_221320_grep_3.json",
    ]


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
