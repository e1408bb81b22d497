"""Hints: a command that fails because of the sandbox says so, and one that fails for its own reason does not."""

import shutil
import subprocess
from collections.abc import Iterator

import pytest

from tests.shell.hints.kit import FILE, MEMORY, PROCESSES, ending
from tests.support.privileges import UIDS
from tests.support.shells import Shells, shells_for
from toolgate.shell.hints import hint
from toolgate.shell.options import MIB, ShellOptions

NETWORK = 'There is no network with access="write"; with access="full" a person is asked and it would work.'
PROTECTED = "The sandbox keeps .git read-only"
ELSEWHERE = "The sandbox lets commands write only in the project and in /tmp."
RUNTIME = "'.toolgate' belongs to the runtime and is hidden from commands"
HIDDEN = "is not shown"
CONNECT = "python3 -I -c \"import socket; socket.create_connection(('1.1.1.1', 80), 2)\""
OPEN = "python3 -I -c \"import urllib.request as u; u.urlopen('http://example.com')\""
FORK = "python3 -I -c 'import os, time\nfor i in range(200):\n  if not os.fork(): time.sleep(3); os._exit(0)'"

CAUSED = {
    "curl -s http://example.com": NETWORK,
    "curl -sS http://example.com": NETWORK,
    "curl -s http://93.184.216.34/": NETWORK,
    "page=$(curl -s http://example.com)": NETWORK,
    "curl -fsSL http://example.com | cat": NETWORK,
    "wget -q http://example.com": NETWORK,
    "git clone https://example.com/a/b": NETWORK,
    "git clone git@example.com:a/b": NETWORK,
    "ssh user@example.com": NETWORK,
    CONNECT: NETWORK,
    OPEN: NETWORK,
    "exec 3<>/dev/tcp/example.com/80": NETWORK,
    "getent hosts example.com": NETWORK,
    "touch /etc/new": ELSEWHERE,
    "echo x > /usr/lib/new": ELSEWHERE,
    "mkdir .toolgate/new": RUNTIME,
    "cat .toolgate/policy.toml": RUNTIME,
    "echo x > .git/hooks/pre-commit": PROTECTED,
    "git config user.name x": PROTECTED,
    "(cd sub && git config user.name x)": PROTECTED,
    "git remote add origin x": PROTECTED,
    "cat ~/.ssh/id_rsa": HIDDEN,
    "cat /home/somebody/.netrc": HIDDEN,
    "ls /srv/data": HIDDEN,
    "truncate -s 1G $TMPDIR/large": FILE,
    "exec truncate -s 1G $TMPDIR/large": FILE,
    "python3 -I -c 'bytearray(64 << 30)'": MEMORY,
    FORK: PROCESSES,
}
ITS_OWN = [
    "false",
    "cat nothing",
    "ls nothing/at/all",
    "cat /etc/nothing",
    "exit 6",
    "exit 7",
    "exit 137",
    "exit 153",
    "kill -9 $$",
    "python3 -I -c 'import nosuchmodule'",
    "python3 -I -c 'raise MemoryError'",
    "python3 -I -c 'raise OSError(30, \"Read-only file system\")'",
    "echo 'network is unreachable'; exit 1",
    "echo MemoryError >&2; false",
    "cat messages; exit 1",
    "grep -r nothing . ; grep 'could not resolve' nothing",
    "curl --nosuchoption",
    "curl -s http://127.0.0.1:9/",
    "git clone ./nothing there",
    "wget",
    "nosuchcommand",
    "sh -c 'exit 28'",
]


@pytest.fixture(params=UIDS)
def shells(request: pytest.FixtureRequest) -> Iterator[Shells]:
    with shells_for(request.param, "bwrap") as made:
        made.options = ShellOptions(file_bytes=64 * MIB, memory_bytes=256 * MIB, processes=64)
        (made.root / "messages").write_text("getaddrinfo EAI_AGAIN\nCould not resolve host\nRead-only file system\n")
        subprocess.run(["git", "init", "-q", str(made.root)], check=True)
        subprocess.run(["chown", "-R", f"{made.uid}", str(made.root)], check=False)
        yield made


def there(command: str) -> bool:
    """Whether the machine has the program."""
    first = command.split()[0]
    return first not in ("wget", "ssh", "curl", "git") or shutil.which(first) is not None


@pytest.mark.timeout(120)
def test_what_the_sandbox_caused_is_said_with_the_access_that_would_work(shells: Shells) -> None:
    wanted = {command: text for command, text in CAUSED.items() if there(command)}
    hints = {command: result.hint for command, result in zip(wanted, shells.commands(*wanted), strict=True)}

    assert {command: text for command, text in hints.items() if wanted[command] not in text} == {}


@pytest.mark.timeout(120)
def test_a_failure_of_its_own_gets_no_hint(shells: Shells) -> None:
    commands = [command for command in ITS_OWN if there(command)]
    results = shells.commands(*commands)

    assert [command for command, result in zip(commands, results, strict=True) if result.exit_code == 0] == []
    assert {command: r.hint for command, r in zip(commands, results, strict=True) if r.hint} == {}


def test_without_a_sandbox_only_limits_are_spoken_of() -> None:
    assert hint(ending(layer="off", stderr="touch: cannot touch '/etc/x': Read-only file system\n")) == ""
    assert hint(ending(layer="off", stderr="curl: (6) Could not resolve host: example.com\n")) == ""
    assert hint(ending(layer="off", stderr="bash: fork: retry: Resource temporarily unavailable\n")) == PROCESSES
