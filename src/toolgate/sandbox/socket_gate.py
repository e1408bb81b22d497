"""Checks every connection that a confined command makes, so that it cannot reach unix sockets of the host.

Neither a network namespace nor a read-only mount prevents connections to unix sockets that have a path. Therefore the
kernel stops each `connect` of a confined process and asks this gate. The gate connects a copy of the socket to a copy
of the address, so that neither can be exchanged after the check. A path is resolved as the command sees it. It must
lead to the command's private temp or home, or to its own `/dev`.
"""

from __future__ import annotations

import ctypes
import errno
import os
import queue
import re
import stat
import struct
import threading
from collections.abc import Callable
from typing import Any

from toolgate.process.start import Process, start_process
from toolgate.sandbox.supervisor.call_numbers import call_number
from toolgate.sandbox.supervisor.kernel import LIBC, PR_SET_NO_NEW_PRIVS, prctl, syscall
from toolgate.sandbox.supervisor.seccomp import AF_UNIX, can_filter, gate_filter
from toolgate.workspace.oserrors import is_shortage
from toolgate.workspace.threads import start_thread

_NEW_LISTENER, _WAIT_KILLABLE = 1 << 3, 1 << 5
_RECEIVE, _SEND, _IS_VALID = 0xC0502100, 0xC0182101, 0x40082102
_OPENAT2, _PIDFD_GETFD = 437, 438
_IN_ROOT, _NO_MAGIC_LINKS = 0x10, 0x02
_MAX_ADDRESS = 128
_MAX_AT_ONCE = 128
_OWN_DEVICES = ("/dev", "/dev/shm")
_ESCAPE = re.compile(r"\\([0-7]{3})")
"""How the kernel escapes blanks and backslashes in `mountinfo`."""

Identity = tuple[int, int]


class SocketGate:
    """Starts processes whose connections are checked, and checks them. One per process of the runtime."""

    def __init__(self) -> None:
        self._jobs: queue.SimpleQueue[tuple[Callable[[], Any], queue.SimpleQueue[Any]]] = queue.SimpleQueue()
        self._ready = threading.Event()
        self._listener = -1
        self._shortage: OSError | None = None
        self._private: set[Identity] = set()
        self._room = threading.Semaphore(_MAX_AT_ONCE)
        start_thread(threading.Thread(target=self._start_processes, name="toolgate-gate-start", daemon=True))
        self._ready.wait()
        if self._shortage is not None:
            raise self._shortage
        if self.works:
            start_thread(threading.Thread(target=self._answer, name="toolgate-gate", daemon=True))

    @property
    def works(self) -> bool:
        """Whether the kernel supports it."""
        return self._listener >= 0

    def allow_directory(self, directory: str) -> Identity:
        """Allow connections to sockets in a private directory, until `disallow_directory`."""
        identity = _identity(os.stat(directory))
        self._private.add(identity)
        return identity

    def disallow_directory(self, identity: Identity) -> None:
        """No longer allow connections to sockets in this directory."""
        self._private.discard(identity)

    def start_process(self, argv: list[str], **options: Any) -> Process:
        """Start a process whose connections are checked.

        A thread that lives as long as the runtime starts it, because a process that ends with its parent ends with the
        thread that started it.
        """
        answer: queue.SimpleQueue[Any] = queue.SimpleQueue()
        self._jobs.put((lambda: start_process(argv, **options), answer))
        done = answer.get()
        if isinstance(done, BaseException):
            raise done
        started: Process = done
        return started

    def _start_processes(self) -> None:
        """Body of the filtered thread. The processes that it starts inherit the filter."""
        try:
            self._listener = _install()
        except OSError as error:  # an old kernel, or another listener exists: `works` is then False
            self._listener = -1
            self._shortage = error if is_shortage(error) else None
        self._ready.set()
        while self.works:
            job, answer = self._jobs.get()
            try:
                answer.put(job())
            except BaseException as error:  # noqa: BLE001 - handed over to the thread that waits
                answer.put(error)

    def _answer(self) -> None:
        while True:
            request = ctypes.create_string_buffer(80)
            if LIBC.ioctl(self._listener, ctypes.c_ulong(_RECEIVE), request) < 0:
                if ctypes.get_errno() in (errno.EINTR, errno.ENOENT):  # the process has ended
                    continue
                return
            if not self._begin(request.raw):
                self._reply(struct.unpack_from("Q", request.raw)[0], errno.EAGAIN)

    def _begin(self, request: bytes) -> bool:
        """Handle a request in a thread of its own; False if there is no room for one."""
        if not self._room.acquire(blocking=False):
            return False
        try:
            start_thread(threading.Thread(target=self._handle, args=(request,), name="toolgate-connect", daemon=True))
        except (MemoryError, RuntimeError):  # without this thread, every later connection would wait for ever
            self._room.release()
            return False
        return True

    def _handle(self, request: bytes) -> None:
        number, pid, _, _, _, _, fd, address, length = struct.unpack_from("QIIiIQQQQ", request)
        answer = errno.EACCES  # the waiting process gets an answer whatever happens
        try:
            self._connect(number, pid, fd & 0xFFFFFFFF, address, length & 0xFFFFFFFF)
            answer = 0
        except OSError as error:
            answer = error.errno or errno.EACCES
        finally:
            self._reply(number, answer)
            self._room.release()

    def _reply(self, number: int, error: int) -> None:
        """Let the call return. A process that has ended needs no answer."""
        LIBC.ioctl(self._listener, ctypes.c_ulong(_SEND), struct.pack("QqiI", number, 0, -error, 0))

    def _connect(self, number: int, pid: int, fd: int, address: int, length: int) -> None:
        """Connect on behalf of the process."""
        if not 2 <= length <= _MAX_ADDRESS:
            raise OSError(errno.EINVAL, "address")
        opened: list[int] = []
        try:
            opened.append(memory := os.open(f"/proc/{pid}/mem", os.O_RDONLY | os.O_CLOEXEC))
            opened.append(handle := os.pidfd_open(_leader(pid)))
            opened.append(socket := syscall("pidfd_getfd", _PIDFD_GETFD, handle, ctypes.c_int(fd), 0))
            opened.append(root := os.open(f"/proc/{pid}/root", os.O_PATH | os.O_DIRECTORY | os.O_CLOEXEC))
            where = os.readlink(f"/proc/{pid}/cwd")
            target = _read(memory, address, length)
            if LIBC.ioctl(self._listener, ctypes.c_ulong(_IS_VALID), struct.pack("Q", number)) < 0:
                raise OSError(errno.ESRCH, "the process that asked is gone")
            name = target[2:].partition(b"\0")[0]
            if int.from_bytes(target[:2], "little") == AF_UNIX and name:
                opened.append(file := _open_in(root, os.path.join(os.fsencode(where), name)))
                self._check(root, pid, file)
                target = struct.pack("H", AF_UNIX) + f"/proc/self/fd/{file}\0".encode()
            if LIBC.connect(socket, target, len(target)) < 0:
                raise OSError(ctypes.get_errno(), "connect")
        finally:
            for one in opened:
                os.close(one)

    def _check(self, root: int, pid: int, file: int) -> None:
        """Refuse everything but a socket in one of the command's own directories."""
        if not stat.S_ISSOCK(os.fstat(file).st_mode):
            raise OSError(errno.ECONNREFUSED, "no socket")
        mount = _mount_point(pid, file)
        if mount in _OWN_DEVICES:
            return
        top = _open_in(root, os.fsencode(mount))
        try:
            if _mount_id(top) == _mount_id(file) and _identity(os.fstat(top)) in self._private:
                return
        finally:
            os.close(top)
        raise OSError(errno.EACCES, "a socket of the host")


def _install() -> int:
    """Filter this thread and its children; return the descriptor on which the kernel asks."""
    machine = os.uname().machine
    if not can_filter():
        raise OSError(errno.ENOSYS, "seccomp")
    _try_descriptors()
    program = gate_filter(machine)
    text = ctypes.create_string_buffer(program, len(program))
    head = ctypes.create_string_buffer(struct.pack("HxxxxxxQ", len(program) // 8, ctypes.addressof(text)))
    prctl(PR_SET_NO_NEW_PRIVS, 1)
    number = call_number("seccomp", machine)
    assert number is not None
    try:
        return syscall("seccomp", number, ctypes.c_uint(1), ctypes.c_uint(_NEW_LISTENER | _WAIT_KILLABLE), head)
    except OSError as error:
        if error.errno != errno.EINVAL:
            raise
    return syscall("seccomp", number, ctypes.c_uint(1), ctypes.c_uint(_NEW_LISTENER), head)


def _try_descriptors() -> None:
    """Raise `OSError` if descriptors of other processes cannot be copied. Then no connection could be made."""
    handle = os.pidfd_open(os.getpid())
    try:
        os.close(syscall("pidfd_getfd", _PIDFD_GETFD, handle, ctypes.c_int(handle), 0))
    finally:
        os.close(handle)


def _leader(thread: int) -> int:
    """Return the process of a thread."""
    for line in _text(f"/proc/{thread}/status").splitlines():
        if line.startswith("Tgid:"):
            return int(line.split()[1])
    raise OSError(errno.ESRCH, "no such process")


def _read(memory: int, address: int, length: int) -> bytes:
    try:
        data = os.pread(memory, length, address)
    except (OSError, OverflowError):
        data = b""
    if len(data) != length:
        raise OSError(errno.EFAULT, "address")
    return data


def _open_in(root: int, path: bytes) -> int:
    """Open a path as a process with this root sees it."""
    how = struct.pack("QQQ", os.O_PATH | os.O_CLOEXEC, 0, _IN_ROOT | _NO_MAGIC_LINKS)
    return syscall("openat2", _OPENAT2, root, path, how, ctypes.c_size_t(len(how)))


def _mount_point(pid: int, file: int) -> str:
    """Return the mount point of a file in a process's view."""
    wanted = _mount_id(file)
    for line in _text(f"/proc/{pid}/mountinfo").splitlines():
        fields = line.split(" ")
        if fields[0] == wanted:
            return _ESCAPE.sub(lambda match: chr(int(match[1], 8)), fields[4])
    raise OSError(errno.EACCES, "no such mount")


def _mount_id(fd: int) -> str:
    for line in _text(f"/proc/self/fdinfo/{fd}").splitlines():
        if line.startswith("mnt_id:"):
            return line.split()[1]
    raise OSError(errno.EACCES, "no such mount")


def _identity(info: os.stat_result) -> Identity:
    return info.st_dev, info.st_ino


def _text(path: str) -> str:
    fd = os.open(path, os.O_RDONLY | os.O_CLOEXEC)
    try:
        parts = []
        while chunk := os.read(fd, 1 << 16):
            parts.append(chunk)
        return b"".join(parts).decode(errors="surrogateescape")
    finally:
        os.close(fd)


_gates: dict[tuple[int, int], SocketGate] = {}
_making = threading.Lock()


def socket_gate() -> SocketGate:
    """Return the gate of this process and user. A fork has none of its parent's threads and makes its own gate."""
    with _making:
        key = os.getpid(), os.geteuid()
        if key not in _gates:
            _gates.clear()
            _gates[key] = SocketGate()
        return _gates[key]
