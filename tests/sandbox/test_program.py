"""What each layer of the sandbox promises, tried by a command, as root and as nobody."""

import os
import re
import stat
from pathlib import Path

from tests.sandbox.kit import CONFINED, EVERY_ACCESS, VIEWED, outcomes, python
from tests.support.shells import Shells
from toolgate.protocol.plan import Access

PRIVILEGES = """
attempt("mount", lambda: call((165, 40), b"none", temporary.encode(), b"tmpfs", 0, None))
attempt("fsopen", lambda: call((430, 430), b"tmpfs", 0))
attempt("user namespace", lambda: call((272, 97), 0x10000000))
attempt("clone3", lambda: call((435, 435), ctypes.create_string_buffer(88), ctypes.c_size_t(88)))
attempt("block device", lambda: os.mknod(temporary + "/block", 0o60600, os.makedev(7, 0)))
attempt("character device", lambda: os.mknod(temporary + "/character", 0o20600, os.makedev(1, 1)))
attempt("chroot", lambda: os.chroot(temporary))
attempt("host name", lambda: call((170, 161), b"x", 1))
attempt("bpf", lambda: call((321, 280), 0, ctypes.create_string_buffer(128), 128))
attempt("perf", lambda: call((298, 241), ctypes.create_string_buffer(128), 0, -1, -1, 0))
attempt("userfaultfd", lambda: call((323, 282), 1))
attempt("by handle", lambda: call((304, 265), -100, ctypes.create_string_buffer(b"\\0" * 32), 0))
attempt("module", lambda: call((313, 273), 0, b"", 0))
attempt("reboot", lambda: call((169, 142), 0, 0, 0, None))
attempt("clock", lambda: call((227, 112), 0, ctypes.create_string_buffer(16)))
attempt("other user", lambda: os.setuid(12345))
status = {name: value.strip() for name, _, value in (line.partition(":") for line in open("/proc/self/status"))}
assert status["NoNewPrivs"] == "1" and status["Seccomp"] == "2", status
for kind in ("CapEff", "CapPrm", "CapInh", "CapAmb"):
    assert int(status[kind], 16) == 0, (kind, status[kind])
"""


@EVERY_ACCESS
def test_a_command_has_no_privileges(shells: Shells, access: Access) -> None:
    found = outcomes(shells.command(python(PRIVILEGES), access=access))

    assert "worked" not in found.values(), found


ATTRIBUTES = """
attempt("chmod", lambda: os.chmod(target, 0o777))
attempt("fchmod", lambda: os.fchmod(os.open(target, os.O_RDONLY), 0o777))
attempt("fchmodat2", lambda: call((452, 452), -100, target.encode(), 0o777, 0))
attempt("chown", lambda: os.chown(target, os.getuid(), os.getgid()))
attempt("lchown", lambda: os.lchown(target, os.getuid(), os.getgid()))
attempt("utime", lambda: os.utime(target, (1, 1)))
attempt("futime", lambda: os.utime(os.open(target, os.O_RDONLY), (1, 1)))
attempt("xattr", lambda: os.setxattr(target, "user.x", b"x"))
attempt("fxattr", lambda: os.setxattr(os.open(target, os.O_RDONLY), "user.x", b"x"))
attempt("remove", lambda: os.removexattr(target, "user.kept"))
attempt("flags", lambda: fcntl.ioctl(os.open(target, os.O_RDONLY), 0x40086602, struct.pack("l", 0x80)))
"""


@CONFINED
def test_reading_changes_no_attribute_of_any_file(shells: Shells) -> None:
    shown = shells.root / "script.sh"
    shown.write_text("x")
    for path in (shown, shells.evil / "secret.txt"):
        os.chmod(path, 0o640)
        os.chown(path, shells.uid, shells.uid) if os.geteuid() == 0 else None
        os.setxattr(path, "user.kept", b"1")
        before = path.stat()
        found = outcomes(shells.command(python(f"target = {str(path)!r}\n{ATTRIBUTES}"), access="read"))

        assert "worked" not in found.values(), found
        after = path.stat()
        assert (after.st_mode, after.st_uid, after.st_mtime_ns) == (before.st_mode, before.st_uid, before.st_mtime_ns)
        assert os.listxattr(path) == ["user.kept"]


@CONFINED
def test_memory_that_the_users_processes_share_cannot_be_reached(shells: Shells) -> None:
    tried = python('attempt("attach", lambda: call((29, 194), 0x70617468, ctypes.c_size_t(4096), 0))')

    assert outcomes(shells.command(tried))["attach"] in ("EPERM", "ENOENT")


@CONFINED
def test_limits_of_the_hosts_processes_cannot_be_changed(shells: Shells) -> None:
    tried = f"""
    attempt("limit", lambda: call((302, 261), {os.getpid()}, 0, struct.pack("QQ", 1 << 40, 1 << 40), None))
    attempt("signal", lambda: os.kill({os.getpid()}, 0))
    attempt("memory", lambda: open("/proc/{os.getpid()}/mem", "rb"))
    """

    assert "worked" not in outcomes(shells.command(python(tried))).values()


CONTROLS = """
import multiprocessing, tempfile, threading
def serve(family, address):
    server = socket.socket(family); server.bind(address); server.listen()
    threading.Thread(target=lambda: server.accept()[0].sendall(b"hello")).start()
    client = socket.socket(family); client.connect(server.getsockname())
    assert client.recv(5) == b"hello"
attempt("tcp", lambda: serve(socket.AF_INET, ("127.0.0.1", 0)))
folder = tempfile.mkdtemp()
attempt("unix", lambda: serve(socket.AF_UNIX, folder + "/own.sock"))
os.chdir(folder)
attempt("relative", lambda: serve(socket.AF_UNIX, "relative.sock"))
attempt("abstract", lambda: serve(socket.AF_UNIX, "\\0own"))
attempt("home", lambda: serve(socket.AF_UNIX, os.path.expanduser("~/own.sock")))
attempt("memory", lambda: serve(socket.AF_UNIX, "/dev/shm/own.sock"))
attempt("pair", lambda: socket.socketpair())
attempt("routes", lambda: socket.if_nameindex())
attempt("fifo", lambda: os.mkfifo(folder + "/fifo"))
attempt("mode", lambda: os.chmod(folder, 0o755))
attempt("times", lambda: os.utime(folder))
def manage():
    with multiprocessing.Manager() as manager:
        shared = manager.list([1])
        process = multiprocessing.Process(target=shared.append, args=(2,))
        process.start(); process.join()
        assert list(shared) == [1, 2]
attempt("manager", manage)
def pool():
    with multiprocessing.Pool(2) as workers:
        assert workers.map(abs, [-1, -2]) == [1, 2]
attempt("pool", pool)
os.unlink(os.path.expanduser("~/own.sock"))
os.chdir("/"); shutil.rmtree(folder)
"""


@VIEWED
def test_a_commands_own_sockets_and_processes_work(shells: Shells) -> None:
    found = outcomes(shells.command(python(CONTROLS)))

    assert set(found.values()) == {"worked"}, found


@EVERY_ACCESS
def test_every_promise_of_every_layer_has_a_test_here(shells: Shells, access: Access) -> None:
    """A new promise needs a test that tries it: name it here."""
    tried = {
        "root read-only": "test_read_access_changes_nothing_in_the_root",
        "root writable": "test_programs_work_behind_the_filter",
        ".toolgate hidden": "test_the_runtimes_own_files_are_hidden_in_every_access",
        "homes and keys hidden": "test_homes_and_keys_are_hidden",
        "homes and keys unreadable": "test_homes_and_keys_are_hidden",
        "private temp and home": "test_the_private_temp_lasts_as_long_as_the_session",
        "network reachable": "test_full_access_reaches_the_hosts_network",
        "no network": "test_there_is_no_network_and_the_hint_says_what_would_help",
        "host sockets unreachable": "test_a_socket_of_the_host_below_the_root_cannot_be_reached",
        "no sockets": "test_a_socket_of_the_host_below_the_root_cannot_be_reached",
        "no keyrings": "test_the_keyrings_of_the_host_cannot_be_reached",
        "no shared memory of other processes": "test_memory_that_the_users_processes_share_cannot_be_reached",
        "modes, owners, times and attributes of files unchanged": "test_reading_changes_no_attribute_of_any_file",
        "no privileges": "test_a_command_has_no_privileges",
        "processes end with the command": "test_s02_at_the_deadline_the_whole_tree_is_gone",
    }
    report = shells.command("true", access=access).sandbox

    assert report is not None
    assert {promise for promise in report.enforced if ".git" not in promise} <= set(tried)
    assert set(tried.values()) <= _names_of_tests()


def _names_of_tests() -> set[str]:
    """The tests of this room and of the shell."""
    tests = Path(__file__).parents[1]
    files = [file for room in ("sandbox", "shell") for file in (tests / room).rglob("test_*.py")]
    return {name for file in files for name in re.findall(r"(?m)^def (test_\w+)", file.read_text(encoding="utf-8"))}


@CONFINED
def test_devices_made_by_hand_are_no_way_to_the_disk(shells: Shells) -> None:
    """The device of the root's file system, made and read."""
    number = shells.root.stat().st_dev
    tried = f"""
    path = temporary + "/disk"
    attempt("make", lambda: os.mknod(path, {stat.S_IFBLK | 0o600}, {number}))
    attempt("read", lambda: open(path, "rb").read(1))
    """

    assert outcomes(shells.command(python(tried))) == {"make": "EPERM", "read": "ENOENT"}
