"""`make demo` shows a call, a question, two denials and a truncation, and leaves nothing behind."""

import os
import subprocess
import sys
from pathlib import Path

DEMO = Path(__file__).parent.parent.parent / "scripts" / "demo.py"


def test_the_demo_shows_what_it_should_and_cleans_up(tmp_path: Path) -> None:
    done = subprocess.run(
        [sys.executable, DEMO],
        capture_output=True,
        text=True,
        cwd=tmp_path,
        env={**os.environ, "TMPDIR": str(tmp_path)},
        check=False,
    )

    shown = [line.strip() for line in done.stdout.splitlines()]
    statuses = [line for line in shown if line.split(" ")[0] in {"success", "partial", "error"}]
    assert (done.returncode, done.stderr) == (0, "")
    assert statuses == ["success", "success", "error ACCESS_DENIED", "error MODE_DENIED", "partial"]
    assert any(line.startswith("kept   tool-output/tool_") for line in shown)
    assert list(tmp_path.iterdir()) == []
