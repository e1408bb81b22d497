"""Sockets: no network, and no socket of the host."""

import os
import socket
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from itertools import product
from pathlib import Path

import pytest

from tests.sandbox.kit import CONFINED, VIEWED, VIEWS, outcomes, python
from tests.support.shells import Shells
from toolgate.protocol.plan import Access
from toolgate.sandbox import socket_gate
from toolgate.shell.result import CommandResult
from toolgate.shell.session import ShellSession
from toolgate.workspace import threads


@VIEWED
def test_there_is_no_network_and_the_hint_says_what_would_help(shells: Shells) -> None:
    result, own = shells.commands(
        "python3 -I -c 'import socket; socket.create_connection((\"192.0.2.1\", 80), 2)'",
        "python3 -I -c 'from socket import *; s = create_server((\"\", 0)); create_connection(s.getsockname())'",
    )

    assert result.exit_code == 1
    assert 'access="full"' in result.hint
    assert own.exit_code == 0


@VIEWED
def test_abstract_sockets_of_the_host_cannot_be_reached(shells: Shells) -> None:
    name = "toolgate-test-" + os.urandom(8).hex()
    with socket.socket(socket.AF_UNIX) as server:
        server.bind("\0" + name)
        server.listen()
        code = f"import socket; socket.socket(socket.AF_UNIX).connect(chr(0) + {name!r})"
        result = shells.command(f'python3 -I -c "{code}"')

    assert result.exit_code == 1


WITHOUT_NETWORK = pytest.mark.parametrize(
    ("layer", "access"), [*product(VIEWS, ("read", "write")), ("landlock", "read")], indirect=["layer"]
)


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


@VIEWED
def test_without_room_for_a_thread_a_connection_is_refused_and_the_next_one_works(shells: Shells) -> None:
    """The thread that answers must not end: the kernel holds every connection until it does."""
    code = python(
        """
        server = socket.socket(socket.AF_UNIX)
        server.bind(temporary + "/own")
        server.listen()
        attempt("connect", lambda: socket.socket(socket.AF_UNIX).connect(temporary + "/own"))
        os.unlink(temporary + "/own")
        """
    )

    async def script(session: ShellSession) -> list[CommandResult]:
        await session.execute("true", 20, "write")
        real, failures = threads.start_thread, [RuntimeError("can't start new thread")]

        def starved(thread: threading.Thread) -> None:
            if failures and thread.name == "toolgate-connect":
                raise failures.pop()
            real(thread)

        vars(socket_gate)["start_thread"] = starved
        return [await session.execute(code, 20, "write") for _ in range(2)]

    assert list(map(outcomes, shells.run_apart(script))) == [{"connect": "EAGAIN"}, {"connect": "worked"}]
