"""What `pip install toolgate` gives, in clean environments: the core alone, and every extra alone."""

import os
import subprocess
import sys
import venv
from pathlib import Path

import pytest

ROOT = Path(__file__).parent.parent
pytestmark = [pytest.mark.outside, pytest.mark.slow, pytest.mark.timeout(900)]
IMPORTS = {
    "acp": "toolgate.adapters.acp.agent",
    "anthropic": "toolgate.models.anthropic",
    "cli": "toolgate.cli.chat.terminal",
    "distributed": "toolgate.distributed.worker",
    "gateway": "toolgate.gateway.server",
    "langchain": "toolgate.adapters.langchain",
    "mcp": "toolgate.adapters.mcp_server.server",
    "metrics": "toolgate.gateway.metrics",
    "openai": "toolgate.models.openai",
    "openai-agents": "toolgate.adapters.openai_agents",
    "otel": "opentelemetry.sdk.trace",
    "postgres": "toolgate.sessions.postgres",
    "pydantic-ai": "toolgate.adapters.pydantic_ai",
}
"""Extra → a module that must be importable with it alone."""


@pytest.fixture(scope="module")
def wheel(tmp_path_factory: pytest.TempPathFactory) -> Path:
    place = tmp_path_factory.mktemp("dist")
    subprocess.run(
        [sys.executable, "-m", "hatchling", "build", "-t", "wheel", "-d", str(place)],
        cwd=ROOT,
        check=True,
        capture_output=True,
    )
    (made,) = place.glob("*.whl")
    return made


def _installed(wheel: Path, place: Path, extra: str = "") -> Path:
    """Make an environment with the wheel; return its directory of programs."""
    venv.create(place / "venv", with_pip=False)
    target = f"{wheel}[{extra}]" if extra else str(wheel)
    pip = [sys.executable, "-m", "pip", "--python", str(place / "venv/bin/python"), "install", "--quiet", target]
    done = subprocess.run(pip, capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr
    return place / "venv" / "bin"


def _run(place: Path, *command: str | Path) -> subprocess.CompletedProcess[str]:
    environment = {"PATH": os.environ["PATH"], "HOME": str(place)}
    return subprocess.run(
        list(map(str, command)), capture_output=True, text=True, check=False, cwd=place, env=environment, stdin=-3
    )


def test_the_core_alone_is_a_library_calls_answers_and_sessions(wheel: Path, tmp_path: Path) -> None:
    programs = _installed(wheel, tmp_path)
    (tmp_path / "a.txt").write_text("TODO\n")
    library = "import toolgate; [getattr(toolgate, name) for name in toolgate.__all__]"

    assert _run(tmp_path, programs / "python", "-c", library).stderr == ""
    assert "in UTC." in _run(tmp_path, programs / "toolgate", "call", "current_time").stdout
    found = _run(tmp_path, programs / "toolgate", "call", "--mode", "coding", "grep", "TODO")
    assert "a.txt" in found.stdout
    assert "in UTC." in _run(tmp_path, programs / "toolgate", "chat", "--print", "current_time").stdout
    assert "current_time" in _run(tmp_path, programs / "toolgate", "sessions", "list").stdout
    for command in ("serve", "worker", "status", "mcp", "acp"):
        done = _run(tmp_path, programs / "toolgate", command)
        assert done.returncode == 2, command
        assert "pip install 'toolgate[" in done.stderr
        assert done.stderr.count("\n") == 1


@pytest.mark.parametrize(("extra", "module"), IMPORTS.items())
def test_an_extra_works_alone(wheel: Path, tmp_path: Path, extra: str, module: str) -> None:
    programs = _installed(wheel, tmp_path, extra)

    done = _run(tmp_path, programs / "python", "-c", f"import {module}")

    assert (done.returncode, done.stderr) == (0, "")
