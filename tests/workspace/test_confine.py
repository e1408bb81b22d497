"""Both ways to open beneath the root give the same answers."""

import errno
import os
from collections.abc import Iterator
from pathlib import Path

import pytest

from tests.support.arena import Arena, arena_for
from tests.support.privileges import UIDS, run_as
from toolgate.workspace.confine import Opener, Walk, choose_opener, open_by_openat2, open_by_walk

PATHS = [
    ".",
    "file",
    "dir",
    "dir/inner",
    "missing",
    "missing/deeper",
    "file/below",
    "to-file",
    "to-dir/inner",
    "up-and-down",
    "absolute-inside",
    "absolute-outside",
    "relative-outside",
    "dangling-inside",
    "dangling-outside",
    "loop",
    "chain",
    "through-parent/root/file",
    "closed/file",
    "to-closed",
    "deep/" * 30 + "x",
    "..foo",
]


def build(root: Path) -> None:
    (root / "file").write_text("file")
    (root / "..foo").write_text("dots")
    (root / "dir").mkdir()
    (root / "dir" / "inner").write_text("inner")
    (root / "closed").mkdir()
    (root / "closed" / "file").write_text("closed")
    links = {
        "to-file": "file",
        "to-dir": "dir",
        "up-and-down": "dir/../file",
        "absolute-inside": str(root / "file"),
        "absolute-outside": "/etc/passwd",
        "relative-outside": "../root-evil/secret.txt",
        "dangling-inside": "nothing/here",
        "dangling-outside": "../nothing",
        "loop": "loop",
        "chain": "to-file",
        "through-parent": "..",
        "to-closed": "closed/file",
    }
    for name, target in links.items():
        (root / name).symlink_to(target)


@pytest.fixture(params=UIDS)
def arena(request: pytest.FixtureRequest) -> Iterator[Arena]:
    with arena_for(request.param) as made:
        build(made.root)
        made.own()
        (made.root / "closed").chmod(0)
        yield made
        (made.root / "closed").chmod(0o700)


def answer(opener: Opener, root: Path, path: str, flags: int, links: bool) -> object:
    root_fd = os.open(root, os.O_PATH | os.O_DIRECTORY)
    try:
        fd = opener(root_fd, path, flags, links=links)
    except OSError as error:
        # which of the two says that a path leads out is the kernel's choice
        return "denied" if error.errno in (errno.EXDEV, errno.ELOOP) else errno.errorcode[error.errno or 0]
    finally:
        os.close(root_fd)
    info = os.fstat(fd)
    os.close(fd)
    return info.st_dev, info.st_ino


@pytest.mark.parametrize("links", [True, False], ids=["links", "no-links"])
@pytest.mark.parametrize("flags", [os.O_PATH, os.O_RDONLY, os.O_RDONLY | os.O_DIRECTORY], ids=["path", "read", "dir"])
def test_both_give_the_same_answers(arena: Arena, flags: int, links: bool) -> None:
    def compare() -> list[tuple[str, object, object]]:
        return [
            (
                path,
                answer(open_by_openat2, arena.root, path, flags, links),
                answer(open_by_walk, arena.root, path, flags, links),
            )
            for path in PATHS
        ]

    answers = run_as(arena.uid, compare)
    assert [(path, walked) for path, _, walked in answers] == [(path, kernel) for path, kernel, _ in answers]


def test_what_leads_out_is_denied_and_the_rest_is_not(arena: Arena) -> None:
    def denied() -> list[str]:
        return [path for path in PATHS if answer(open_by_walk, arena.root, path, os.O_PATH, True) == "denied"]

    assert run_as(arena.uid, denied) == [
        "absolute-inside",
        "absolute-outside",
        "relative-outside",
        "dangling-outside",
        "loop",
        "through-parent/root/file",
    ]


def test_a_walk_says_where_a_path_really_is(tmp_path: Path) -> None:
    build(tmp_path)
    root = os.open(tmp_path, os.O_PATH)
    try:
        with Walk(root) as walk:
            place = walk.to(["to-dir", "new", "x"])
    finally:
        os.close(root)
    info = (tmp_path / "dir").stat()

    assert (place.parts, place.identities, place.missing) == (("dir", "new", "x"), ((info.st_dev, info.st_ino),), 2)


def test_a_walk_holds_no_more_than_two_descriptors_however_deep(tmp_path: Path) -> None:
    deep = tmp_path.joinpath(*["d"] * 200)
    deep.mkdir(parents=True)
    root = os.open(tmp_path, os.O_PATH)
    before = len(os.listdir("/proc/self/fd"))
    try:
        with Walk(root) as walk:
            walk.to(["d"] * 200)
            held = len(os.listdir("/proc/self/fd")) - before
    finally:
        os.close(root)

    assert held == 2


def test_auto_takes_openat2_where_the_kernel_has_it(tmp_path: Path) -> None:
    fd = os.open(tmp_path, os.O_PATH)
    try:
        assert choose_opener("auto", fd)[0] == "openat2"
        assert choose_opener("walk", fd)[0] == "walk"
    finally:
        os.close(fd)


def test_without_openat2_auto_walks_and_asking_for_it_fails(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("toolgate.workspace.confine._syscall", lambda: lambda *_: -errno.ENOSYS)
    fd = os.open(tmp_path, os.O_PATH)
    try:
        assert choose_opener("auto", fd) == ("walk", open_by_walk)
        with pytest.raises(OSError, match="not implemented"):
            choose_opener("openat2", fd)
    finally:
        os.close(fd)


def test_a_resolution_that_the_kernel_was_unsure_of_is_tried_again(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    answers = iter([-errno.EAGAIN, -errno.EINTR, 77])
    monkeypatch.setattr("toolgate.workspace.confine._syscall", lambda: lambda *_: next(answers))

    assert open_by_openat2(3, "x", os.O_PATH) == 77
