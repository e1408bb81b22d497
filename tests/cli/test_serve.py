"""A gateway that cannot start says why in one line."""

import os
import subprocess
import sys
from pathlib import Path

import pytest

UNUSABLE = {
    "a server that is not there": ({"TOOLGATE_DATABASE_URL": "postgresql://ada:hunter2@127.0.0.1:1/x"}, "server runs"),
    "a file for turns elsewhere": ({"TOOLGATE_DISTRIBUTED_ROLE": "gateway"}, "need PostgreSQL"),
    "a directory that is a file": ({"TOOLGATE_DATABASE_URL": "sqlite:////dev/null/x.db"}, "x.db"),
    "a root that is not there": ({"TOOLGATE_WORKSPACE_ROOT": "/nonexistent"}, "/nonexistent"),
    "a model without a key": ({"TOOLGATE_MODEL_PROVIDER": "openai"}, "needs a key"),
}


def _serve(directory: Path, **environ: str) -> subprocess.CompletedProcess[str]:
    plain = {
        "PATH": os.environ["PATH"],
        "HOME": str(directory),
        "TOOLGATE_DATABASE_URL": f"sqlite:///{directory}/a.db",
        "TOOLGATE_WORKSPACE_ROOT": str(directory),
    }
    command = [sys.executable, "-m", "toolgate", "serve", "--no-open", "--port", "0"]
    return subprocess.run(command, env={**plain, **environ}, capture_output=True, text=True, timeout=50, check=False)


@pytest.mark.parametrize("case", UNUSABLE)
def test_what_keeps_a_gateway_from_starting_is_one_line_and_no_traceback(tmp_path: Path, case: str) -> None:
    environ, expected = UNUSABLE[case]
    ended = _serve(tmp_path, **environ)

    assert ended.returncode == 2, ended.stderr
    assert expected in ended.stderr
    assert ended.stderr.count("\n") == 1, ended.stderr
    assert ended.stdout == ""
    assert "hunter2" not in ended.stderr
