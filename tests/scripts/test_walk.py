"""`scripts/walk.py`: how many rooms a call crosses stays bounded."""

import re
import subprocess
import sys
from pathlib import Path

import pytest

SCRIPT = Path(__file__).parents[2] / "scripts" / "walk.py"


@pytest.mark.parametrize(("call", "limit"), [("grep", 34), ("edit", 40), ("bash", 60)])
def test_a_call_crosses_few_rooms(call: str, limit: int) -> None:
    done = subprocess.run([sys.executable, str(SCRIPT), call], capture_output=True, text=True, check=True)
    found = re.search(r"(\d+) room changes", done.stdout)
    assert found is not None
    assert 10 < int(found[1]) <= limit, f"python scripts/walk.py {call} --path shows the way"


@pytest.mark.parametrize("words", [[], ["nothing"], ["--path"]])
def test_without_a_call_to_follow_it_says_which_there_are(words: list[str]) -> None:
    done = subprocess.run([sys.executable, str(SCRIPT), *words], capture_output=True, text=True, check=False)
    assert (done.returncode, done.stderr) == (
        1,
        "walk: choose what to follow: grep, edit, bash, turn or tests; --path prints every step\n",
    )
