"""PostgreSQL for tests ends with the process that has started it."""

import subprocess
import sys
import tempfile
import time
from pathlib import Path

import pytest

_STARTS_ONE = """
import time
from tests.support.databases import postgres_server

with postgres_server() as url:
    print(url, flush=True)
    time.sleep(300)
"""


@pytest.mark.postgres
def test_a_killed_process_leaves_no_server(monkeypatch: pytest.MonkeyPatch) -> None:
    with tempfile.TemporaryDirectory() as directory:
        Path(directory).chmod(0o755)  # if the tests run as root, the server runs as another user
        monkeypatch.setenv("TMPDIR", directory)
        with subprocess.Popen([sys.executable, "-c", _STARTS_ONE], stdout=subprocess.PIPE) as process:
            assert process.stdout is not None
            assert process.stdout.readline().startswith(b"postgresql://")
            (data,) = Path(directory).glob("toolgate-pg-*/data")
            server = int((data / "postmaster.pid").read_text().split()[0])
            process.kill()
        while Path(f"/proc/{server}").exists() or data.exists():
            time.sleep(0.05)
