"""The fork server's own part: where a fork puts its descriptors, and what it says when it cannot begin."""

import subprocess
import sys

PROGRAM = """
import os
from toolgate.sandbox.supervisor.serve import place_descriptors
def holding(text):
    reading, writing = os.pipe()
    os.write(writing, text)
    os.close(writing)
    return reading
held = [holding(text) for text in (b"a", b"b", b"c")]
wanted = [held[1], held[0], 40]
place_descriptors(held, wanted)
assert [os.read(fd, 1) for fd in wanted] == [b"a", b"b", b"c"]
assert all(os.get_inheritable(fd) for fd in wanted)
spare = os.open("/dev/null", os.O_RDONLY)
assert spare == held[2], "the number that it had is free again"
"""


def test_descriptors_get_their_numbers_even_if_they_have_to_change_places() -> None:
    done = subprocess.run([sys.executable, "-c", PROGRAM], capture_output=True, text=True, check=False)

    assert done.stderr == ""
    assert done.returncode == 0


UNREADABLE_ORDER = """
import os
from toolgate.sandbox.supervisor.serve import become_supervisor
def holding(data):
    reading, writing = os.pipe()
    os.write(writing, data)
    os.close(writing)
    return reading
become_supervisor([holding(b"no order"), holding(b"go")])
"""


def test_a_fork_that_cannot_read_its_order_says_why_it_ends() -> None:
    done = subprocess.run([sys.executable, "-c", UNREADABLE_ORDER], capture_output=True, text=True, check=False)

    assert done.stderr.startswith("toolgate: the sandbox cannot be set up: ")
    assert done.returncode != 0
