"""`make redteam`: build the wheel, install it apart from the checkout, attack it, print a table.

Exit code 0: every attack was held and every control works. 1: not so. 2: it could not be tried.
"""

from __future__ import annotations

import argparse
import json
import os
import re
import shutil
import subprocess
import sys
import tempfile
from collections import Counter
from pathlib import Path

CHECKOUT = Path(__file__).resolve().parents[1]
NOBODY = 65534
_LAYERS = ("bwrap", "namespaces", "landlock", "off")
_BAD = ("ESCAPE", "UNASKED", "BROKEN", "ERROR")
Line = dict[str, str]


def main() -> int:
    """Build, install, attack, report."""
    parser = argparse.ArgumentParser(prog="make redteam", description="Attack an installed wheel of this checkout.")
    parser.add_argument("--only", default="", help="a part of an attack's name or group")
    parser.add_argument("--layer", choices=_LAYERS, action="append", help="one layer instead of all four")
    chosen = parser.parse_args()
    users = [("root", 0), ("nobody", NOBODY)] if os.geteuid() == 0 else [("you", os.geteuid())]
    with tempfile.TemporaryDirectory(prefix="redteam-", dir="/var/tmp") as directory:
        place = Path(directory)
        place.chmod(0o755)
        python = _install(place)
        results = {
            f"{name} {layer}": _attack(python, place, user, layer, chosen.only)
            for name, user in users
            for layer in chosen.layer or _LAYERS
        }
    return _report(results)


def _install(place: Path) -> Path:
    """The wheel with the extras that attacks need, at the locked versions, where every user can read it."""
    _say("building the wheel and installing it")
    wheels, environment = place / "wheels", place / "environment"
    pip = [sys.executable, "-m", "pip", "--disable-pip-version-check", "--quiet"]
    _do([*pip, "wheel", "--no-deps", "--no-build-isolation", "--wheel-dir", str(wheels), str(CHECKOUT)])
    _do([sys.executable, "-m", "venv", str(environment)])
    locked = re.sub(r"(?m)^\s+--hash=\S+.*\n?| \\$", "", (CHECKOUT / "requirements/dev.txt").read_text())
    constraints = place / "constraints.txt"
    constraints.write_text(locked)
    python = environment / "bin/python"
    wheel = next(wheels.glob("toolgate-*.whl"))
    _do([str(python), *pip[1:], "install", "--constraint", str(constraints), f"{wheel}[gateway,mcp]"])
    shutil.copytree(CHECKOUT / "redteam", place / "attacks/redteam", ignore=shutil.ignore_patterns("__pycache__"))
    return python


def _attack(python: Path, place: Path, user: int, layer: str, only: str) -> list[Line]:
    _say(f"attacking as uid {user} in layer {layer}")
    done = subprocess.run(
        [str(python), "-m", "redteam.run", "--user", str(user), "--layer", layer, "--only", only],
        cwd=place / "attacks",
        env={"PATH": os.environ["PATH"], "HOME": "/nonexistent", "PYTHONDONTWRITEBYTECODE": "1"},
        stdin=subprocess.DEVNULL,
        capture_output=True,
        text=True,
        check=False,
    )
    if done.returncode:
        _say(done.stderr)
        sys.exit(2)
    return [json.loads(line) for line in done.stdout.splitlines()]


def _report(results: dict[str, list[Line]]) -> int:
    columns = list(results)
    rows = {(line["group"], line["name"]): line["promise"] for lines in results.values() for line in lines}
    cells = {
        (line["group"], line["name"], column): line["verdict"] for column, lines in results.items() for line in lines
    }
    width = max((len(f"{group}: {name}") for group, name in rows), default=10)
    _say(" " * width + "  " + "  ".join(columns))
    for group, name in rows:
        verdicts = (cells.get((group, name, column), "-").ljust(len(column)) for column in columns)
        _say(f"{group}: {name}".ljust(width) + "  " + "  ".join(verdicts))
    for column, lines in results.items():
        for line in lines:
            if line["verdict"] in _BAD:
                _say(f"\n{line['verdict']} ({column}) {line['group']}: {line['name']}\n{line['detail']}")
    count = Counter(cells.values())
    _say(
        f"\n{count['held']} held, {count['ESCAPE']} escapes, {count['UNASKED']} unasked effects, "
        f"{count['BROKEN'] + count['ERROR']} broken, {count['-']} not applicable"
    )
    if not count["held"]:
        _say("No attack was tried: check --only.")
        return 2
    return 1 if any(count[verdict] for verdict in _BAD) else 0


def _do(words: list[str]) -> None:
    done = subprocess.run(words, stdin=subprocess.DEVNULL, capture_output=True, text=True, check=False)
    if done.returncode:
        _say(done.stdout + done.stderr)
        sys.exit(2)


def _say(text: str) -> None:
    sys.stdout.write(text + "\n")
    sys.stdout.flush()


if __name__ == "__main__":
    sys.exit(main())
