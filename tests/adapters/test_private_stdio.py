"""The protocol has the descriptors for itself."""

import subprocess
import sys


def test_what_is_printed_by_accident_does_not_reach_the_protocol() -> None:
    script = (
        "import os, sys\n"
        "from toolgate.adapters.private_stdio import private_stdio\n"
        "with private_stdio() as (stdin, stdout):\n"
        "    print('by accident', flush=True)\n"
        "    assert sys.stdin.read() == ''\n"
        "    os.write(stdout, os.read(stdin, 100))\n"
        "print('after', flush=True)\n"
    )
    done = subprocess.run([sys.executable, "-c", script], input=b"message", capture_output=True, check=True)
    assert (done.stdout, done.stderr) == (b"messageafter\n", b"by accident\n")
