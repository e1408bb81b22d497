"""The supervisor's command."""

import os

from toolgate.sandbox.supervisor_call import supervisor_call


def test_the_order_and_the_program_travel_in_descriptors() -> None:
    call = supervisor_call({"mode": "probe"}, 7)
    try:
        script, order = call.fds
        assert call.argv[1:3] == ["-I", "-S"]
        assert call.argv[4:] == [str(script), str(order), "7", str(os.getpid())]
        assert os.pread(order, 100, 0) == b'{"mode": "probe"}'
        assert b"def main()" in os.pread(script, 1 << 20, 0)
    finally:
        for fd in call.fds:
            os.close(fd)
