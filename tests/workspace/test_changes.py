"""What sessions have changed in the project's files."""

from pathlib import Path

from tests.workspace.test_undo_files import write
from toolgate.workspace import Stop, Workspace
from toolgate.workspace.changes import ChangedBy, changed_files


def test_a_file_is_compared_with_what_the_session_found_and_each_call_with_what_it_found(tmp_path: Path) -> None:
    (tmp_path / "a.txt").write_text("one\ntwo\n")
    workspace = Workspace(tmp_path)
    write(workspace, "a.txt", "one\n2\n", call="c1")
    write(workspace, "a.txt", "one\n2\n3\n", session="other", call="c2")
    write(workspace, "a.txt", "one\n2\n3\n4\n", call="c3")
    [file] = changed_files(Stop(), workspace, {"s"})
    assert (file.path, file.kind, file.added, file.removed) == ("a.txt", "modified", 3, 1)
    assert file.calls == (ChangedBy(call_id="c1", added=1, removed=1), ChangedBy(call_id="c3", added=1, removed=0))
    assert "-two\n+2\n+3\n+4\n" in file.diff
    workspace.close()


def test_created_removed_and_binary_files(tmp_path: Path) -> None:
    (tmp_path / "b.bin").write_bytes(b"\x7fELF\0\0")
    workspace = Workspace(tmp_path)
    write(workspace, "new.txt", "x\n")
    write(workspace, "gone.txt", "x\n")
    write(workspace, "bin.txt", "x\n")
    (tmp_path / "gone.txt").unlink()
    (tmp_path / "bin.txt").write_bytes(b"\x7fELF\0\0")
    found = {file.path: (file.kind, file.added, file.diff != "") for file in changed_files(Stop(), workspace, {"s"})}
    assert found == {
        "new.txt": ("created", 1, True),
        "gone.txt": ("removed", 0, False),
        "bin.txt": ("created", 0, False),
    }
    workspace.close()
