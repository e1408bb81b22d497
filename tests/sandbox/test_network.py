"""Commands of one session reach a server in a background job, and nothing else: in every layer with namespaces."""

import socket

import pytest

from tests.support.shells import Shells
from toolgate.protocol.plan import Access
from toolgate.shell.session import ShellSession

NAMESPACES = pytest.mark.parametrize("layer", ["bwrap", "namespaces"], indirect=True)
SERVER = """python3 -c "
import socket
server = socket.create_server(('127.0.0.1', 0))
open('port', 'w').write(str(server.getsockname()[1]))
while True:
    client, _ = server.accept()
    client.sendall(b'hello from the job')
" """
CLIENT = """python3 -c "
import pathlib, socket, time
for _ in range(600):
    try:
        port = int(pathlib.Path('port').read_text())
        break
    except (OSError, ValueError):
        time.sleep(0.05)
try:
    print(socket.create_connection(('127.0.0.1', port), 10).recv(100).decode())
except OSError as error:
    print(type(error).__name__)
" """


@NAMESPACES
def test_a_server_in_a_job_is_reached_by_the_next_command(shells: Shells) -> None:
    async def script(session: ShellSession) -> list[str]:
        await session.execute("true")  # a shell waits in a network of its own
        await session.execute(SERVER, background=True)
        first = await session.execute(CLIENT, 60)
        again = await session.execute(CLIENT, 60)
        return [first.stdout + first.stderr, again.stdout]

    assert shells.run(script) == ["hello from the job\n", "hello from the job\n"]


@NAMESPACES
def test_two_jobs_share_the_network(shells: Shells) -> None:
    async def script(session: ShellSession) -> str:
        await session.execute(SERVER, background=True)
        client = await session.execute(CLIENT, background=True)
        await session.jobs.wait(str(client.job_id), 60)
        return session.jobs.output(str(client.job_id))[0]

    assert shells.run(script) == "hello from the job\n"


@NAMESPACES
@pytest.mark.parametrize("access", ["read", "write"])
def test_nothing_outside_is_reached_from_the_shared_network(shells: Shells, access: Access) -> None:
    with socket.create_server(("127.0.0.1", 0)) as host:
        port = host.getsockname()[1]
        code = (
            "import socket\n"
            f"for place in (('127.0.0.1', {port}), ('1.1.1.1', 80)):\n"
            "    try:\n"
            "        socket.create_connection(place, 5)\n"
            "        print('REACHED', place)\n"
            "    except OSError as error:\n"
            "        print(type(error).__name__)\n"
            "print([name for _, name in socket.if_nameindex()])\n"
        )

        async def script(session: ShellSession) -> str:
            await session.execute("sleep 1000", access=access, background=True)
            result = await session.execute(f"python3 -c {code!r}".replace("\\n", "\n"), 60, access)
            return result.stdout + result.stderr

        seen = shells.run(script)

    assert "REACHED" not in seen
    assert seen.splitlines()[0] == "ConnectionRefusedError"
    assert "['lo']" in seen


@NAMESPACES
def test_a_command_that_may_only_read_does_not_reach_a_job_that_writes(shells: Shells) -> None:
    async def script(session: ShellSession) -> str:
        await session.execute(SERVER, background=True)
        await session.execute(CLIENT, 60)
        return (await session.execute(CLIENT, 60, "read")).stdout

    assert shells.run(script) == "ConnectionRefusedError\n"


@NAMESPACES
def test_two_sessions_do_not_share_a_network(shells: Shells) -> None:
    async def script(session: ShellSession) -> str:
        await session.execute(SERVER, background=True)
        assert (await session.execute(CLIENT, 60)).stdout == "hello from the job\n"
        from toolgate.workspace import Workspace

        async with ShellSession(Workspace(shells.root), layer=session._layer) as other:
            await other.execute("sleep 1000", background=True)
            return (await other.execute(CLIENT, 60)).stdout

    assert shells.run(script) == "ConnectionRefusedError\n"


@NAMESPACES
def test_the_sandbox_is_as_tight_in_the_shared_network(shells: Shells) -> None:
    """No privilege, no way out of the namespaces, and no descriptor of them."""

    async def script(session: ShellSession) -> tuple[str, str]:
        probe = (
            "grep -E 'CapEff|CapPrm|NoNewPrivs|Seccomp:' /proc/self/status;"
            "ls -l /proc/self/fd | grep -c 'net:\\|user:';"
            "unshare -U true 2>&1 | head -1; unshare -n true 2>&1 | head -1"
        )
        alone = (await session.execute(probe)).stdout
        await session.execute("sleep 1000", background=True)
        return alone, (await session.execute(probe)).stdout

    alone, shared = shells.run(script)

    assert "CapEff:\t0000000000000000" in shared
    assert alone == shared
