"""Messages to the supervisor, with descriptors beside them."""

import os
import socket

from toolgate.sandbox.layer import memory_file
from toolgate.sandbox.supervisor.messages import MAX_DESCRIPTORS, read_all, received_descriptors


def test_as_many_descriptors_as_the_kernel_passes_on_arrive_in_their_order() -> None:
    here, there = socket.socketpair(socket.AF_UNIX, socket.SOCK_SEQPACKET)
    files = [memory_file("text", str(number).encode()) for number in range(MAX_DESCRIPTORS)]
    with here, there:
        socket.send_fds(here, [b"+"], files)
        _, carried, _, _ = there.recvmsg(1, socket.CMSG_SPACE(4 * MAX_DESCRIPTORS))
    received = received_descriptors(carried)

    assert [read_all(fd) for fd in received] == [str(number).encode() for number in range(MAX_DESCRIPTORS)]
    for fd in (*files, *received):
        os.close(fd)
