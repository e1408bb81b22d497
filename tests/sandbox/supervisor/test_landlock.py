"""Landlock in a process of its own: what is granted can be used, everything else cannot."""

import json
import subprocess
import sys
from pathlib import Path

import pytest

from toolgate.sandbox.supervisor.landlock import landlock_abi

PROGRAM = """
import json, sys
from toolgate.sandbox.supervisor.landlock import apply_landlock
open_, closed, grants = sys.argv[1], sys.argv[2], json.loads(sys.argv[3])
apply_landlock(grants, network=False, sockets=False)
def attempt(mode, path):
    try:
        open(path, mode).close()
        return True
    except PermissionError:
        return False
print(json.dumps([attempt("r", open_), attempt("a", open_), attempt("r", closed)]))
"""


@pytest.mark.skipif(landlock_abi() < 3, reason="no Landlock here: a kernel from 6.2 on with CONFIG_SECURITY_LANDLOCK")
@pytest.mark.parametrize(("right", "writes"), [("read", False), ("write", True)])
def test_only_what_is_granted_can_be_used(tmp_path: Path, right: str, writes: bool) -> None:
    for name in ("open", "closed"):
        (tmp_path / name).mkdir()
        (tmp_path / name / "file").write_text("x")
    grants = [[str(tmp_path / "open"), right], [str(tmp_path / "gone"), "read"]]
    words = [str(tmp_path / "open" / "file"), str(tmp_path / "closed" / "file"), json.dumps(grants)]

    done = subprocess.run([sys.executable, "-c", PROGRAM, *words], capture_output=True, text=True, check=True)

    assert json.loads(done.stdout) == [True, writes, False]
