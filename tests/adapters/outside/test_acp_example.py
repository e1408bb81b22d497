"""The example client of the Agent Client Protocol's own package drives `toolgate acp`: a read, and a denial.

The client comes with the package's source archive, in the version that is installed here. It prints what the agent
says, and has no way to ask a person, so a call that needs approval is refused.
"""

import asyncio
import fcntl
import importlib.metadata
import subprocess
import sys
import tarfile
from pathlib import Path

import pytest

from tests.adapters.mcp_server.kit import environment
from tests.adapters.outside.agents import LIMIT, TEXT, place
from tests.adapters.outside.conftest import HOME

pytestmark = [pytest.mark.outside, pytest.mark.timeout(400)]

PACKAGE = "agent-client-protocol"


def _source() -> Path:
    """The source archive of the package, unpacked once for all workers and runs."""
    version = importlib.metadata.version(PACKAGE)
    found = HOME / f"agent_client_protocol-{version}"
    HOME.mkdir(exist_ok=True)
    with (HOME / f"{found.name}.lock").open("w") as lock:
        fcntl.flock(lock, fcntl.LOCK_EX)
        if not found.exists():
            words = ("download", "--quiet", "--no-deps", "--no-binary", PACKAGE, f"{PACKAGE}=={version}")
            command = [sys.executable, "-m", "pip", *words, "--dest", str(HOME)]
            done = subprocess.run(command, capture_output=True, text=True, timeout=280)
            assert done.returncode == 0, done.stderr
            with tarfile.open(HOME / f"{found.name}.tar.gz") as archive:
                archive.extractall(HOME, filter="data")
    return found


async def test_the_example_client_reads_a_file_and_a_call_that_it_cannot_ask_about_is_refused(tmp_path: Path) -> None:
    source = await asyncio.to_thread(_source)
    at = place(tmp_path)
    words = (sys.executable, "-m", "toolgate", "acp", "--coding", "--model", "offline", "--root", str(at.root))
    process = await asyncio.create_subprocess_exec(
        *(sys.executable, str(source / "examples" / "client.py"), *words),
        cwd=at.root,
        env=environment(at.home),
        stdin=asyncio.subprocess.PIPE,
        stdout=asyncio.subprocess.PIPE,
        stderr=asyncio.subprocess.STDOUT,
    )
    typed = b"read_file path=a.txt\nwrite_file path=new.txt content=x\n"
    out, _ = await asyncio.wait_for(process.communicate(typed), LIMIT)
    said = out.decode()
    assert process.returncode == 0, said
    assert TEXT in said
    assert "This call was not approved: the editor could not ask" in said
    assert 'args = { path = "new.txt" }' in said, "the rule that would allow it"
    assert not (at.root / "new.txt").exists()
