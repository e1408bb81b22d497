"""Promises of a sandbox layer: privileges, devices, sockets of the host, keyrings, memory."""

import os
import socket
import threading
from pathlib import Path

from redteam.arena import Arena, Session
from redteam.attack import LAYERS, VIEWS, Broken, Escaped, Unasked, attack

_CAPABILITIES = "grep -h '^\\(CapPrm\\|CapEff\\|CapInh\\|CapAmb\\|NoNewPrivs\\)' /proc/self/status"
"""The bounding set is left out: without a privilege nobody can empty it, and with no_new_privs it gives nothing."""
_KEYRING = """
import ctypes
libc = ctypes.CDLL(None, use_errno=True)
print(libc.syscall(250, 0, -3, 0), libc.syscall(248, b"user", b"x", b"y", 1, -3))
"""
"""keyctl(KEYCTL_GET_KEYRING_ID, the session's) and add_key, by their numbers on x86_64."""
_NETWORKS = """
import socket
for family, kind in ((socket.AF_PACKET, socket.SOCK_RAW), (socket.AF_VSOCK, socket.SOCK_STREAM)):
    try:
        socket.socket(family, kind)
        print("made", family)
    except OSError:
        pass
try:
    socket.create_connection(("127.0.0.1", PORT), 1)
    print("reached the host")
except OSError:
    pass
"""


def _python(code: str) -> str:
    return f"/usr/bin/python3 - <<'CODE'\n{code}\nCODE"


async def _run(session: Session, command: str, access: str = "read") -> str:
    return (await session.bash(command, access=access)).stdout


@attack("A command has no capability, and cannot get one.")
async def capabilities(arena: Arena) -> None:
    found = await _run(arena.session(allow=True), _CAPABILITIES)
    if sorted({line.split()[1] for line in found.splitlines()}) != ["0000000000000000", "1"]:
        raise Escaped(f"the command has capabilities:\n{found}")


@attack("A command makes no device that leads to a disk.")
async def devices(arena: Arena) -> None:
    session = arena.session(allow=True)
    made = await _run(session, "cd; mknod disk b 254 0 2>&1 && head -c 16 disk | wc -c")
    if made.strip().endswith("16"):
        raise Escaped("a block device was made and read")


@attack("Sockets of the host below the project cannot be reached.")
async def sockets_of_the_host(arena: Arena) -> None:
    session, path = arena.session(allow=True), arena.root / "host.sock"
    with socket.socket(socket.AF_UNIX) as server:
        server.bind(str(path))
        server.listen()
        reached = threading.Event()
        threading.Thread(target=_accept, args=(server, reached), daemon=True).start()
        code = f"import socket\ns = socket.socket(socket.AF_UNIX)\ns.connect({str(path)!r})\nprint('connected')"
        for access in ("read", "write") if arena.layer in VIEWS else ("read",):
            if "connected" in await _run(session, _python(code), access) or reached.is_set():
                raise Escaped(f"a socket of the host was reached with access {access}")
        server.shutdown(socket.SHUT_RDWR)


def _accept(server: socket.socket, reached: threading.Event) -> None:
    try:
        server.accept()
    except OSError:
        return
    reached.set()


@attack("No other kind of network can be had.")
async def other_networks(arena: Arena) -> None:
    with socket.create_server(("127.0.0.1", 0)) as server:
        found = await _run(arena.session(allow=True), _python(_NETWORKS.replace("PORT", str(server.getsockname()[1]))))
    if found.strip():
        raise Escaped(f"the command got further than it should: {found.strip()}")


@attack("The keyrings of the host cannot be reached.")
async def keyrings(arena: Arena) -> None:
    if os.uname().machine != "x86_64":
        return
    found = await _run(arena.session(allow=True), _python(_KEYRING))
    if found.split() != ["-1", "-1"]:
        raise Escaped(f"a call to the keyring was answered: {found.strip()}")


@attack("Directories in memory are small.", layers=VIEWS)
async def memory(arena: Arena) -> None:
    session = arena.session(allow=True)
    for place in ("/dev/shm", "/run", "/var", "/dev"):
        size = await _run(
            session, f"head -c 400M /dev/zero > {place}/x 2>/dev/null; stat -c %s {place}/x; rm -f {place}/x"
        )
        if size.strip().isdigit() and int(size) > 300 << 20:
            raise Escaped(f"{int(size) >> 20} MiB were put into {place}")


@attack("A rule that allows does not answer for what the sandbox does not enforce.", layers=("landlock", "off"))
async def rules_for_unconfined_commands(arena: Arena) -> None:
    rule = '[[rule]]\ntool = "Bash"\nwords = ["touch"]\ndecision = "allow"\nmatch = ["touch x"]\n'
    policy = arena.home / "policy.toml"
    policy.write_text(rule)
    session = arena.session(policy=policy)
    await session.bash("touch made", access="read" if arena.layer == "landlock" else "write")
    if not session.person.questions:
        raise Unasked("a rule that allows answered for the sandbox")


@attack("Control: a command's own sockets work.", layers=VIEWS)
async def own_sockets(arena: Arena) -> None:
    code = "import socket, tempfile, os\np = os.path.join(tempfile.mkdtemp(), 's')\na = socket.socket(socket.AF_UNIX)\n"
    code += "a.bind(p)\na.listen()\nb = socket.socket(socket.AF_UNIX)\nb.connect(p)\nprint('works')"
    if "works" not in await _run(arena.session(), _python(code), "write"):
        raise Broken("a command cannot use its own unix sockets")


@attack("Programs that a command planted are never run by the runtime.", layers=LAYERS)
async def planted_programs(arena: Arena) -> None:
    planted = arena.root / "bin"
    planted.mkdir()
    for name in ("bwrap", "bash", "rg", "git", "python3"):
        program = planted / name
        program.write_text(f"#!/bin/sh\ntouch {arena.marker}\n")
        program.chmod(0o755)
    arena.environment["PATH"] = f"{planted}:{arena.environment['PATH']}"
    session = arena.session()
    await session.bash("true", access="read")
    await session.call("grep", pattern="project")
    if not Path(arena.root / "README.md").exists():
        raise Broken("the project is gone")
