"""`python -m toolgate` is the same program."""

import subprocess
import sys

from toolgate import __version__


def test_python_dash_m_is_the_same_program() -> None:
    done = subprocess.run([sys.executable, "-m", "toolgate", "--version"], capture_output=True, text=True, check=True)

    assert done.stdout == f"toolgate {__version__}\n"
