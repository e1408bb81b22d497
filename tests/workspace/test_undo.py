"""The journal, and taking back."""

import os
from pathlib import Path

import pytest

from toolgate.errors import UndoRefused
from toolgate.workspace import Stop, Workspace
from toolgate.workspace.journal_entries import Origin
from toolgate.workspace.target import state_of, target_of
from toolgate.workspace.undo import Undone
from toolgate.workspace.write import Change, commit


@pytest.fixture
def workspace(tmp_path: Path) -> Workspace:
    return Workspace(tmp_path)


def write(workspace: Workspace, path: str, content: str, call: str = "c", turn: str = "t", session: str = "s") -> None:
    target = target_of(workspace, path)
    opened = target.open(workspace)
    before = state_of(opened)
    if opened is not None:
        opened.close()
    planned = Change(target=target, before=before, pieces=(content.encode(),))
    commit(Stop(), workspace, planned, Origin(session_id=session, turn_id=turn, call_id=call, tool="test"))


def content(workspace: Workspace) -> dict[str, str]:
    return {
        str(path.relative_to(workspace.root)): path.read_text()
        for path in sorted(workspace.root.rglob("*"))
        if path.is_file() and ".toolgate" not in path.parts
    }


def test_with_nothing_written_there_is_nothing_to_take_back(workspace: Workspace) -> None:
    assert workspace.journal.undo() == []
    assert os.listdir(workspace.root) == []


def test_a_changed_file_gets_its_content_mode_and_time_back(workspace: Workspace) -> None:
    target = workspace.root / "f"
    target.write_text("old")
    target.chmod(0o751)
    before = target.stat()
    write(workspace, "f", "new")

    assert workspace.journal.undo() == [Undone(path="f", action="restored")]
    after = target.stat()
    assert (target.read_text(), after.st_mode, after.st_mtime_ns) == ("old", before.st_mode, before.st_mtime_ns)


def test_a_created_file_is_removed_with_the_directories_made_for_it(workspace: Workspace) -> None:
    write(workspace, "a/b/f", "new")

    assert workspace.journal.undo() == [Undone(path="a/b/f", action="removed")]
    assert os.listdir(workspace.root) == [".toolgate"]


def test_a_directory_that_is_in_use_stays(workspace: Workspace) -> None:
    write(workspace, "a/b/f", "new")
    (workspace.root / "a" / "mine").write_text("x")
    workspace.journal.undo()

    assert content(workspace) == {"a/mine": "x"}


def test_call_turn_and_session(workspace: Workspace) -> None:
    for call, turn, session in (
        ("1", "1", "other"),
        ("1", "1", "s"),
        ("2", "1", "s"),
        ("3", "2", "s"),
        ("4", "2", "s"),
    ):
        write(workspace, f"{session}-{turn}-{call}", "x", call, turn, session)

    assert [undone.path for undone in workspace.journal.undo("call")] == ["s-2-4"]
    assert [undone.path for undone in workspace.journal.undo("turn")] == ["s-2-3"]
    assert [undone.path for undone in workspace.journal.undo("session")] == ["s-1-2", "s-1-1"]
    assert content(workspace) == {"other-1-1": "x"}


def test_one_session_can_be_chosen(workspace: Workspace) -> None:
    write(workspace, "one", "x", session="one")
    write(workspace, "two", "x", session="two")
    workspace.journal.undo("session", session_id="one")

    assert content(workspace) == {"two": "x"}


def test_several_writes_to_one_file_are_taken_back_together_or_one_by_one(workspace: Workspace) -> None:
    (workspace.root / "f").write_text("0")
    for number in "123":
        write(workspace, "f", number, call=number)
    workspace.journal.undo()
    assert content(workspace) == {"f": "2"}
    workspace.journal.undo("session")
    assert content(workspace) == {"f": "0"}
    assert workspace.journal.undo() == []


@pytest.mark.parametrize("how", ["in place", "replaced", "removed", "same size", "a directory"])
def test_what_somebody_else_changed_is_not_taken_back(workspace: Workspace, how: str) -> None:
    target = workspace.root / "f"
    target.write_text("old")
    write(workspace, "f", "new")
    write(workspace, "g", "new")
    if how == "in place":
        target.write_text("theirs")
    elif how == "replaced":
        (workspace.root / "h").write_text("new")
        os.replace(workspace.root / "h", target)
    elif how == "same size":
        times = target.stat()
        target.write_text("NEW")
        os.utime(target, ns=(times.st_atime_ns, times.st_mtime_ns))
    else:
        target.unlink()
        if how == "a directory":
            target.mkdir()
    before = content(workspace)

    with pytest.raises(UndoRefused, match="'f'"):
        workspace.journal.undo("session")
    assert content(workspace) == before


def test_a_change_between_two_writes_is_not_taken_back(workspace: Workspace) -> None:
    (workspace.root / "f").write_text("0")
    write(workspace, "f", "1", call="1")
    (workspace.root / "f").write_text("theirs")
    write(workspace, "f", "2", call="2")

    with pytest.raises(UndoRefused):
        workspace.journal.undo("session")
    workspace.journal.undo("call")
    assert content(workspace) == {"f": "theirs"}


def test_an_earlier_content_that_was_changed_through_another_name_is_refused(workspace: Workspace) -> None:
    (workspace.root / "f").write_text("old")
    os.link(workspace.root / "f", workspace.root / "g")
    write(workspace, "f", "new")
    (workspace.root / "g").write_text("changed")

    with pytest.raises(UndoRefused):
        workspace.journal.undo()


@pytest.mark.parametrize("again", [True, False], ids=["later-they-work", "never"])
def test_where_links_do_not_work_contents_are_copied(
    workspace: Workspace, monkeypatch: pytest.MonkeyPatch, again: bool
) -> None:
    link = os.link

    def no_links(source: str, *arguments: object, **options: object) -> None:
        if not source.startswith("/proc/"):
            raise OSError(18, "Invalid cross-device link")
        link(source, *arguments, **options)  # type: ignore[arg-type]

    monkeypatch.setattr(os, "link", no_links)
    (workspace.root / "f").write_text("0")
    (workspace.root / "f").chmod(0o751)
    write(workspace, "f", "1", call="1")
    write(workspace, "f", "2", call="2")
    if again:
        monkeypatch.setattr(os, "link", link)
    workspace.journal.undo("call")
    assert content(workspace) == {"f": "1"}
    workspace.journal.undo("call")
    assert (content(workspace), (workspace.root / "f").stat().st_mode & 0o777) == ({"f": "0"}, 0o751)


def test_a_write_that_was_recorded_and_did_not_happen_is_no_obstacle(
    workspace: Workspace, monkeypatch: pytest.MonkeyPatch
) -> None:
    (workspace.root / "f").write_text("old")
    write(workspace, "f", "new", call="1")

    class Killed(BaseException):
        pass

    def killed(*_: object, **__: object) -> None:
        raise Killed

    with monkeypatch.context() as patch:
        patch.setattr(os, "rename", killed)
        with pytest.raises(Killed):
            write(workspace, "f", "never", call="2")

    assert workspace.journal.undo("call") == [Undone(path="f", action="unchanged")]
    assert content(workspace) == {"f": "new"}
    workspace.journal.undo("call")
    assert content(workspace) == {"f": "old"}
