"""The first process of a sandbox that is used again. What it does for commands is in `test_reusable`."""

import os
import subprocess
import sys

from toolgate.sandbox.supervisor.init import renumber
from toolgate.sandbox.supervisor.supervise import FAILED


def test_it_does_nothing_if_it_is_not_the_first_process_of_a_namespace() -> None:
    program = "from toolgate.sandbox.supervisor.init import run_programs; run_programs({})"

    assert subprocess.run([sys.executable, "-c", program], check=False).returncode == FAILED


def test_descriptors_get_their_numbers_even_if_they_stand_in_each_others_way() -> None:
    pipes = [os.pipe() for _ in range(3)]
    writing = [pipe[1] for pipe in pipes]
    wanted = [writing[1], writing[2], writing[0]]  # each number is taken by another descriptor
    text = "".join(f"echo {number} >&{number}; " for number in wanted)
    pid = os.posix_spawn("/bin/bash", ["bash", "-c", text], {}, file_actions=renumber(writing, wanted))
    os.waitpid(pid, 0)

    assert [os.read(pipe[0], 9) for pipe in pipes] == [b"%d\n" % number for number in wanted]
    for pipe in pipes:
        for fd in pipe:
            os.close(fd)


def test_descriptors_need_no_higher_numbers_than_they_get() -> None:
    actions = renumber([7, 3, 5], [255, 3, 1])

    assert max(number for _, *numbers in actions[:3] for number in numbers) < 255
    assert max(fd for action in actions for fd in action[1:] if isinstance(fd, int)) == 255
