"""Hints about paths: what is denied is told apart, and a read-only project names the access that can write."""

import subprocess
from collections.abc import Iterator

import pytest

from tests.shell.hints.kit import ending
from tests.support.privileges import UIDS
from tests.support.shells import Shells, shells_for
from toolgate.shell.hints import hint
from toolgate.shell.options import MIB, ShellOptions

READ_ONLY = 'The sandbox keeps the project read-only with access="read"; it would work with access="write".'

HIDDEN = "is not shown"


@pytest.fixture(params=UIDS)
def shells(request: pytest.FixtureRequest) -> Iterator[Shells]:
    with shells_for(request.param, "bwrap") as made:
        made.options = ShellOptions(file_bytes=64 * MIB, memory_bytes=256 * MIB, processes=64)
        (made.root / "messages").write_text("getaddrinfo EAI_AGAIN\nCould not resolve host\nRead-only file system\n")
        subprocess.run(["git", "init", "-q", str(made.root)], check=True)
        subprocess.run(["chown", "-R", f"{made.uid}", str(made.root)], check=False)
        yield made


WRITES = ["echo x > new", "touch new", "mkdir d", "sed -i s/a/b/ messages", "git add messages", "rm messages"]


def test_a_read_only_project_names_the_access_that_can_write(shells: Shells) -> None:
    hints = {command: r.hint for command, r in zip(WRITES, shells.commands(*WRITES, access="read"), strict=True)}

    assert hints == dict.fromkeys(WRITES, READ_ONLY)


def test_without_a_view_what_is_denied_is_told_apart() -> None:
    assert 'access="full"' in hint(ending(command="touch new", stderr="touch: cannot touch 'new': Permission denied\n"))
    assert HIDDEN in hint(ending(command="cat /srv/x", stderr="cat: /srv/x: Permission denied\n"))
    assert hint(ending(command="cat secret", stderr="cat: secret: Permission denied\n")) == ""
    said = 'File "/usr/lib/python3.11/socket.py", line 1\nPermissionError: [Errno 13] Permission denied\n'
    assert "no network" in hint(ending(command="python3 x.py", stderr=said))
