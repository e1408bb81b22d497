"""What each layer of the sandbox promises, tried by a command, as root and as nobody."""

import os
import resource
import socket
import stat
import textwrap
from collections.abc import Iterator
from contextlib import contextmanager
from itertools import product
from pathlib import Path
from typing import get_args

import pytest

from tests.support.shells import Shells
from toolgate.protocol.plan import Access
from toolgate.shell.result import CommandResult
from toolgate.shell.session import ShellSession

VIEWS = ("bwrap", "namespaces")
CONFINED = pytest.mark.parametrize("layer", [*VIEWS, "landlock"], indirect=True)
VIEWED = pytest.mark.parametrize("layer", VIEWS, indirect=True)
EVERY_ACCESS = pytest.mark.parametrize(
    ("layer", "access"),
    [*product(VIEWS, get_args(Access)), ("landlock", "read"), ("landlock", "full")],
    indirect=["layer"],
)
WITHOUT_NETWORK = pytest.mark.parametrize(
    ("layer", "access"), [*product(VIEWS, ("read", "write")), ("landlock", "read")], indirect=["layer"]
)

PRELUDE = """
import ctypes, errno, fcntl, os, platform, shutil, socket, struct, sys
libc = ctypes.CDLL(None, use_errno=True)
machine = 0 if platform.machine() == "x86_64" else 1
def call(numbers, *arguments):
    result = libc.syscall(ctypes.c_long(numbers[machine]), *arguments)
    if result < 0:
        raise OSError(ctypes.get_errno(), "call")
    return result
def attempt(name, function):
    try:
        function()
    except OSError as error:
        print(name, errno.errorcode[error.errno])
    else:
        print(name, "worked")
temporary = os.environ["TMPDIR"]
"""


def python(*parts: str) -> str:
    """A command that runs this in the system's Python."""
    body = "\n".join(map(textwrap.dedent, (PRELUDE, *parts)))
    return f"/usr/bin/env -u PYTHONPATH python3 -I - <<'END'\n{body}\nEND"


def outcomes(result: CommandResult) -> dict[str, str]:
    """What was tried → how it ended."""
    assert result.exit_code == 0, result.stderr
    return dict(line.rsplit(" ", 1) for line in result.stdout.splitlines())


@contextmanager
def listening(path: Path | str, kind: socket.SocketKind = socket.SOCK_STREAM) -> Iterator[socket.socket]:
    """A server of the host's, which everybody may talk to."""
    with socket.socket(socket.AF_UNIX, kind) as server:
        server.bind(str(path))
        os.chmod(path, 0o777)
        if kind != socket.SOCK_DGRAM:
            server.listen()
        server.settimeout(0)
        yield server


def was_reached(server: socket.socket) -> bool:
    """Whether somebody has connected or sent something."""
    try:
        if server.type == socket.SOCK_DGRAM:
            server.recv(10)
        else:
            server.accept()[0].close()
    except BlockingIOError:
        return False
    return True


CONNECTIONS = """
def connect(path, kind=socket.SOCK_STREAM):
    with socket.socket(socket.AF_UNIX, kind) as client:
        client.connect(path)
def send(path):
    with socket.socket(socket.AF_UNIX, socket.SOCK_DGRAM) as client:
        client.sendto(b"x", path)
def send_from_pair(path):
    one, other = socket.socketpair(socket.AF_UNIX, socket.SOCK_DGRAM)
    one.sendto(b"x", path)
"""


@WITHOUT_NETWORK
def test_a_socket_of_the_host_below_the_root_cannot_be_reached(shells: Shells, access: Access) -> None:
    with (
        listening(shells.root / "stream.sock") as stream,
        listening(shells.root / "packets.sock", socket.SOCK_SEQPACKET) as packets,
        listening(shells.root / "datagrams.sock", socket.SOCK_DGRAM) as datagrams,
    ):
        tried = python(
            CONNECTIONS,
            """
            attempt("stream", lambda: connect("stream.sock"))
            attempt("absolute", lambda: connect(os.path.abspath("stream.sock")))
            os.symlink(os.path.abspath("stream.sock"), temporary + "/link")
            attempt("link", lambda: connect(temporary + "/link"))
            attempt("proc", lambda: connect("/proc/self/cwd/stream.sock"))
            attempt("packets", lambda: connect("packets.sock", socket.SOCK_SEQPACKET))
            attempt("datagram", lambda: send("datagrams.sock"))
            attempt("pair", lambda: send_from_pair("datagrams.sock"))
            os.unlink(temporary + "/link")
            """,
        )
        found = outcomes(shells.command(tried, access=access))

        assert "worked" not in found.values(), found
        assert [was_reached(server) for server in (stream, packets, datagrams)] == [False, False, False]


@CONFINED
def test_a_socket_of_the_host_in_the_systems_directories_cannot_be_reached(shells: Shells) -> None:
    if os.geteuid() != 0:
        pytest.skip("needs root: run the tests as root")
    for place in ("/usr", "/opt"):
        path = Path(place) / f"toolgate-test-{os.getpid()}.sock"
        try:
            with listening(path) as server:
                found = outcomes(shells.command(python(f'{CONNECTIONS}\nattempt("stream", lambda: connect("{path}"))')))
                assert found["stream"] in ("EACCES", "ENOENT")
                assert not was_reached(server)
        finally:
            path.unlink()


@CONFINED
def test_a_socket_that_is_moved_or_linked_into_the_private_temp_stays_out_of_reach(shells: Shells) -> None:
    with listening(shells.root / "stream.sock") as server:
        found = outcomes(
            shells.command(
                python(
                    CONNECTIONS,
                    """
                    attempt("link", lambda: (os.link("stream.sock", temporary + "/a"), connect(temporary + "/a")))
                    attempt("move", lambda: (os.rename("stream.sock", temporary + "/b"), connect(temporary + "/b")))
                    """,
                )
            )
        )

        assert "worked" not in found.values(), found
        assert not was_reached(server)


@VIEWED
def test_the_address_cannot_be_exchanged_after_it_was_checked(shells: Shells) -> None:
    """One thread connects to an allowed socket while another writes the host's path over the address."""
    with listening(shells.root / "x") as server:
        race = """
        import threading
        own = socket.socket(socket.AF_UNIX); own.bind("/tmp/x"); own.listen(4096)
        good, bad = b"/tmp/x", os.path.abspath("x").encode()
        buffer = ctypes.create_string_buffer(110)
        def address(path): return struct.pack("H", 1) + path.ljust(108, b"\\0")
        over = False
        def swap():
            while not over:
                ctypes.memmove(buffer, address(good), 110); ctypes.memmove(buffer, address(bad), 110)
        swapper = threading.Thread(target=swap); swapper.start()
        for _ in range(300):
            client = socket.socket(socket.AF_UNIX)
            libc.connect(client.fileno(), buffer, 110)
            client.close()
        over = True; swapper.join(); os.unlink("/tmp/x")
        print("done worked")
        """
        assert outcomes(shells.command(python(race))) == {"done": "worked"}
        assert not was_reached(server)


OTHERS = """
attempt("vsock", lambda: socket.socket(40, socket.SOCK_STREAM))
attempt("alg", lambda: socket.socket(38, socket.SOCK_SEQPACKET))
attempt("packet", lambda: socket.socket(17, socket.SOCK_RAW))
attempt("bluetooth", lambda: socket.socket(31, socket.SOCK_RAW))
attempt("audit", lambda: socket.socket(16, socket.SOCK_RAW, 9))
attempt("uevents", lambda: socket.socket(16, socket.SOCK_RAW, 15))
attempt("io_uring", lambda: call((425, 425), 8, ctypes.create_string_buffer(128)))
"""


@CONFINED
def test_no_other_kind_of_network_can_be_had(shells: Shells) -> None:
    assert "worked" not in outcomes(shells.command(python(OTHERS))).values()


KEYRINGS = """
attempt("join", lambda: call((250, 219), 1, None))
attempt("session", lambda: call((250, 219), 0, ctypes.c_int(-3), 0))
attempt("search", lambda: call((250, 219), 10, ctypes.c_int(-3), b"user", b"toolgate", 0))
attempt("add", lambda: call((248, 217), b"user", b"toolgate-planted", b"x", ctypes.c_size_t(1), ctypes.c_int(-3)))
attempt("request", lambda: call((249, 218), b"user", b"toolgate", None, ctypes.c_int(-3)))
"""


@EVERY_ACCESS
def test_the_keyrings_of_the_host_cannot_be_reached(shells: Shells, access: Access) -> None:
    assert set(outcomes(shells.command(python(KEYRINGS), access=access)).values()) == {"EPERM"}


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


@pytest.mark.skipif(os.uname().machine != "x86_64", reason="other machines have one table of calls")
@CONFINED
def test_a_32_bit_or_x32_call_does_not_go_around_the_filter(shells: Shells) -> None:
    tried = """
    attempt("x32 socket", lambda: call((0x40000000 + 41,), 40, 1, 0))
    attempt("x32 keyctl", lambda: call((0x40000000 + 250,), 0, ctypes.c_int(-3), 0))
    import mmap
    code = b"\\xb8\\x2a\\x00\\x00\\x00\\xcd\\x80\\xc3"  # mov eax, 42; int 0x80; ret
    memory = mmap.mmap(-1, 4096, prot=7)
    memory.write(code)
    child = os.fork()
    if not child:
        ctypes.CFUNCTYPE(ctypes.c_int)(ctypes.addressof(ctypes.c_char.from_buffer(memory)))()
        os._exit(0)
    print("int 0x80", "SIGSYS" if os.waitpid(child, 0)[1] & 127 == 31 else "worked")
    """

    found = outcomes(shells.command(python(tried)))
    assert found == {"x32 socket": "ENOSYS", "x32 keyctl": "ENOSYS", "int 0x80": "SIGSYS"}


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


@VIEWED
def test_directories_in_memory_are_small(shells: Shells) -> None:
    tried = """
    for place in ("/dev/shm", "/dev", "/run", "/run/toolgate", "/", "/proc", "/var"):
        def fill():
            with open(place + "/filling", "wb") as file:
                for _ in range(400):
                    file.write(b"x" * (1 << 20))
        attempt(place, fill)
    """
    found = outcomes(shells.command(python(tried)))

    assert found.pop("/dev/shm") == "ENOSPC"
    assert set(found.values()) <= {"EROFS", "EACCES", "ENOENT"}, found


FLOOD = """small=after; state=$(trap -p EXIT | grep -o "/[^ '\\"]*/state[^ ;'\\"]*" | head -1)
head -c 60000000 /dev/zero > "$state"; echo written; (exit 7)"""


def test_what_a_command_writes_where_its_state_goes_is_not_kept_in_memory(shells: Shells) -> None:
    async def script(session: ShellSession) -> tuple[list[CommandResult], int, int]:
        largest = 0

        def measure(_stream: str, _text: str) -> None:
            nonlocal largest
            assert session._made is not None
            folder = Path(session._made[0].places._exchange)
            largest = max(largest, sum(path.stat().st_blocks * 512 for path in folder.iterdir()))

        results = [await session.execute("small=before", access=shells.access)]
        before = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
        results.append(await session.execute(FLOOD, access=shells.access, on_output=measure))
        grown = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss - before
        results.append(await session.execute('echo "$small"', access=shells.access))
        return results, largest, grown * 1024

    (_, flood, after), shared, grown = shells.run_apart(script)

    assert shared < 1_000_000
    assert grown < 40_000_000
    assert (flood.stdout, flood.exit_code) == ("written\n", 7)
    assert "the shell's state after this command was not kept, because it is larger than 4 MiB" in flood.stderr
    assert (after.stdout, after.stderr) == ("before\n", "")


def test_without_a_control_group_the_report_says_what_is_not_counted(shells: Shells) -> None:
    report = shells.command("true").sandbox

    assert report is not None
    total = [text for text in report.missing if "not for all together" in text]
    assert all("shared memory" in text for text in total)
    assert not set(total) & set(report.unconfined)


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


def test_programs_work_behind_the_filter(shells: Shells) -> None:
    lines = [
        "git init -q . && git add -A && git -c user.name=a -c user.email=a@b commit -qm x --allow-empty && git log -1",
        "python3 -m pip --version",
        "echo 'int main(void) { return 0; }' > m.c && gcc m.c -o m && ./m",
        "node -e 'require(\"net\").createServer().listen(0, function () { this.close() })'",
        "mktemp -d && cp -p /etc/passwd $(mktemp) && tar cf /dev/null /etc/hosts 2>/dev/null",
    ]
    if not shells.has_view:
        lines = lines[1:2]
    for result in shells.commands(*(f"cd $TMPDIR && rm -rf work && mkdir work && cd work && {line}" for line in lines)):
        assert result.exit_code == 0, (result.stdout, result.stderr)


@CONFINED
def test_full_access_reaches_the_hosts_network(shells: Shells) -> None:
    """A server on the host's loopback; without `full` the same command does not get there."""
    with socket.create_server(("127.0.0.1", 0)) as server:
        server.settimeout(0)
        tried = python(f'attempt("tcp", lambda: socket.create_connection({server.getsockname()}))')
        assert outcomes(shells.command(tried))["tcp"] in ("ECONNREFUSED", "EACCES")
        assert not was_reached(server)
        assert outcomes(shells.command(tried, access="full")) == {"tcp": "worked"}
        assert was_reached(server)


@EVERY_ACCESS
def test_every_promise_of_every_layer_has_a_test_here(shells: Shells, access: Access) -> None:
    """A new promise needs a test that tries it: name it here."""
    tried = {
        "root read-only": "tests/shell/test_sandbox.py::test_read_access_changes_nothing_in_the_root",
        "root writable": "test_programs_work_behind_the_filter",
        ".toolgate hidden": "tests/shell/test_sandbox.py::test_the_runtimes_own_files_are_hidden_in_every_access",
        "homes and keys hidden": "tests/shell/test_sandbox.py::test_homes_and_keys_are_hidden",
        "homes and keys unreadable": "tests/shell/test_sandbox.py::test_homes_and_keys_are_hidden",
        "private temp and home": "tests/shell/test_sandbox.py::test_the_private_temp_lasts_as_long_as_the_session",
        "network reachable": "test_full_access_reaches_the_hosts_network",
        "no network": "tests/shell/test_sandbox.py::test_there_is_no_network_and_the_hint_says_what_would_help",
        "host sockets unreachable": "test_a_socket_of_the_host_below_the_root_cannot_be_reached",
        "no sockets": "test_a_socket_of_the_host_below_the_root_cannot_be_reached",
        "no keyrings": "test_the_keyrings_of_the_host_cannot_be_reached",
        "no shared memory of other processes": "test_memory_that_the_users_processes_share_cannot_be_reached",
        "modes, owners, times and attributes of files unchanged": "test_reading_changes_no_attribute_of_any_file",
        "no privileges": "test_a_command_has_no_privileges",
        "processes end with the command": "test_shell.py::test_s02_at_the_deadline_the_whole_tree_is_gone",
    }
    report = shells.command("true", access=access).sandbox

    assert report is not None
    assert {promise for promise in report.enforced if ".git" not in promise} <= set(tried)


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
