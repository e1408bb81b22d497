"""What killed processes leave in directories for temporary files."""

import asyncio
import os
import signal
import threading
import time
from collections.abc import Callable, Iterator
from contextlib import suppress
from pathlib import Path

import pytest

from tests.support.privileges import NOBODY, UIDS, everything_imported, public_directory, run_apart, run_as
from tests.support.shells import LAYERS, make_layer
from toolgate.sandbox import leftovers
from toolgate.sandbox.leftovers import PREFIX
from toolgate.shell.session import ShellSession
from toolgate.workspace import Workspace


@pytest.fixture
def shared() -> Iterator[Path]:
    """A directory like /tmp."""
    with public_directory("arena-") as made:
        made.chmod(0o1777)
        yield made


def eventually(condition: Callable[[], bool]) -> bool:
    for _ in range(1000):
        if condition():
            return True
        time.sleep(0.01)
    return False


def own(uid: int) -> set[str]:
    """The directories of sessions that belong to a user, wherever they may be; those of other tests come and go."""
    found = set()
    for place in ("/tmp", "/var/tmp", "/dev/shm"):
        with os.scandir(place) as entries:
            for entry in entries:
                with suppress(FileNotFoundError):
                    if entry.name.startswith(PREFIX) and entry.stat(follow_symlinks=False).st_uid == uid:
                        found.add(entry.path)
    return found


async def _session(root: Path, layer: str, command: str) -> str:
    async with ShellSession(Workspace(root), layer=make_layer(layer)) as session:
        return (await session.execute(command, access="read" if layer == "landlock" else "write")).stdout


def _killed_session(uid: int, root: Path, layer: str) -> set[str]:
    """What a process leaves that dies while its session has a home, exchange files and an output file."""
    everything_imported()
    reading, writing = os.pipe()
    child = os.fork()
    if child == 0:
        try:
            if os.geteuid() == 0 and uid:
                os.setgroups([])
                os.setresgid(uid, uid, uid)
                os.setresuid(uid, uid, uid)
            os.environ.pop("TMPDIR", None)

            async def work() -> None:
                session = ShellSession(Workspace(root), layer=make_layer(layer))
                access = "read" if layer == "landlock" else "write"
                await session.execute(
                    "mkdir -p ~/closed/deeper; touch ~/closed/deeper/f; chmod -R 0 ~/closed; seq 500000",
                    access=access,  # type: ignore[arg-type]
                )
                assert session._made is not None
                places = session._made[0].places
                os.write(writing, f"{places.base}\n{places._exchange}".encode())
                os.kill(os.getpid(), signal.SIGKILL)

            asyncio.run(work())
        finally:
            os._exit(1)
    os.close(writing)
    with os.fdopen(reading) as pipe:
        left = set(pipe.read().splitlines())
    _, status = os.waitpid(child, 0)
    assert os.WIFSIGNALED(status), "the session ended by itself"
    return left


@pytest.mark.parametrize("uid", UIDS)
@pytest.mark.parametrize("layer", [layer for layer in LAYERS if layer != "off"])
def test_what_a_killed_process_leaves_is_removed_by_the_next(uid: int, layer: str) -> None:
    with public_directory("arena-") as root:
        if os.geteuid() == 0:
            os.chown(root, uid, uid)
        left = _killed_session(uid, root, layer)
        assert len(left & own(uid)) == 2, "a session has a directory on disk and one in memory"

        def next_one() -> bool:
            asyncio.run(_session(root, layer, "true"))
            return eventually(lambda: not left & own(uid))

        assert run_apart(uid, next_one)
        assert os.listdir(root) == [], "what was made in the root for the sandbox goes with the last session"


def test_what_belongs_to_a_living_process_stays(shared: Path) -> None:
    path, lock = leftovers.make_directory(str(shared))
    Path(path, "f").touch()
    run_apart(os.geteuid(), lambda: leftovers.sweep(str(shared)))
    alive = os.listdir(path)
    os.close(lock)
    leftovers.sweep(str(shared))

    assert (alive, os.listdir(shared)) == (["f"], [])


def test_a_directory_that_is_just_being_made_is_never_lost(shared: Path) -> None:
    over = threading.Event()

    def sweep() -> None:
        while not over.is_set():
            leftovers.sweep(str(shared))

    sweeper = threading.Thread(target=sweep)
    sweeper.start()
    made = [leftovers.make_directory(str(shared)) for _ in range(300)]
    over.set()
    sweeper.join()

    assert sorted(path for path, _ in made) == sorted(str(path) for path in shared.iterdir())
    for _, lock in made:
        os.close(lock)


@pytest.mark.parametrize("uid", UIDS)
def test_links_files_and_directories_of_others_are_not_touched(shared: Path, uid: int) -> None:
    victim = shared / "victim"
    victim.mkdir(mode=0o777)
    (victim / "f").touch()
    (shared / f"{PREFIX}link").symlink_to(victim)
    (shared / f"{PREFIX}file").touch()
    (shared / "toolgate-other").mkdir()
    of_another = shared / f"{PREFIX}other"
    of_another.mkdir(mode=0o777)
    mine = shared / f"{PREFIX}mine"
    mine.mkdir()
    (mine / "link").symlink_to(victim)
    (mine / "to-file").symlink_to(victim / "f")
    expected = [f"{PREFIX}file", f"{PREFIX}link", f"{PREFIX}other", "toolgate-other", "victim"]
    if os.geteuid() == 0:
        os.chown(mine, uid, uid)
        os.chown(of_another, NOBODY if uid == 0 else 0, 0)
    else:
        expected.remove(f"{PREFIX}other")
    run_as(uid, lambda: leftovers.sweep(str(shared)))

    assert sorted(os.listdir(shared)) == sorted(expected)
    assert os.listdir(victim) == ["f"]


@pytest.mark.parametrize("uid", UIDS)
def test_a_tree_that_is_closed_or_very_deep_is_removed(shared: Path, uid: int) -> None:
    def plant_and_remove() -> list[str]:
        path, lock = leftovers.make_directory(str(shared))
        fd = os.open(path, os.O_RDONLY)
        for _ in range(1500):
            os.mkdir("d", dir_fd=fd)
            below = os.open("d", os.O_RDONLY, dir_fd=fd)
            os.close(fd)
            fd = below
        os.close(fd)
        closed = Path(path, "closed")
        closed.mkdir()
        (closed / "f").touch()
        closed.chmod(0)
        leftovers.remove(path)
        os.close(lock)
        return os.listdir(shared)

    assert run_as(uid, plant_and_remove) == []


def test_many_leftovers_do_not_hold_up_the_next_process(shared: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    for number in range(50):
        (shared / f"{PREFIX}{number}" / "sub").mkdir(parents=True)
    monkeypatch.setattr(leftovers, "_TIMEOUT", -1.0)
    leftovers.sweep(str(shared))

    assert len(os.listdir(shared)) == 50
