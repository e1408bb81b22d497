"""The supervisor's program: read the order and carry it out."""

import marshal
import os
import sys

from toolgate.sandbox.supervisor.confine import confine
from toolgate.sandbox.supervisor.init import run_programs
from toolgate.sandbox.supervisor.landlock import landlock_abi
from toolgate.sandbox.supervisor.messages import read_all
from toolgate.sandbox.supervisor.mounts import enter_namespaces, join_network, make_network
from toolgate.sandbox.supervisor.seccomp import can_filter
from toolgate.sandbox.supervisor.serve import serve
from toolgate.sandbox.supervisor.supervise import FAILED


def main() -> None:
    """`python -I -S HELPER OWN_FD ORDER_FD INFO_FD PARENT PROGRAM...`"""
    own_fd, order_fd, info_fd, parent = (int(word) for word in sys.argv[1:5])
    program = sys.argv[5:]
    order = marshal.loads(read_all(order_fd))
    for fd in (own_fd, order_fd):
        os.close(fd)
    try:
        if order["mode"] == "join":
            join_network(order["join"])
            os.execv(program[0], program)
        elif order["mode"] == "probe":
            probe()
        elif order["mode"] == "network":
            hold_network()
        elif order["mode"] == "init":
            run_programs(order)
        elif order["mode"] == "serve":
            serve(info_fd, parent)
        confine(order, info_fd, parent, program, dict(os.environ))
    except OSError as error:
        os.write(2, f"toolgate: the sandbox cannot be set up: {error}\n".encode())
        sys.exit(FAILED)


def probe() -> None:
    """Print what works here."""
    namespaces = True
    try:
        enter_namespaces(network=False)
    except OSError:
        namespaces = False
    found = {"namespaces": int(namespaces), "landlock": landlock_abi(), "seccomp": int(can_filter())}
    os.write(1, str(found).replace("'", '"').encode())  # JSON, without the time that importing `json` takes
    sys.exit(0)


def hold_network() -> None:
    """Make a network with loopback only, say so, and keep it until the host has opened it."""
    make_network()
    os.write(1, b"+")
    os.read(0, 1)
    sys.exit(0)
