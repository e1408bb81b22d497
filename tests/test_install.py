"""What `pip install toolgate` gives, in clean environments: the core alone, and every extra alone."""

import os
import subprocess
import sys
import tomllib
import venv
import zipfile
from importlib import metadata
from pathlib import Path

import pytest
from packaging.requirements import Requirement

ROOT = Path(__file__).parent.parent
pytestmark = [pytest.mark.outside, pytest.mark.slow, pytest.mark.timeout(900)]
IMPORTS = {
    "acp": "toolgate.adapters.acp.agent",
    "anthropic": "toolgate.models.anthropic",
    "cli": "toolgate.cli.chat.terminal",
    "distributed": "toolgate.distributed.worker",
    "documents": "PIL.Image, pypdf, pypdfium2, toolgate.documents",
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
"""Extra → modules that must be importable with it alone."""


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


def _installed(wheel: Path, place: Path) -> Path:
    """Make an environment with the wheel and what it needs, by pip; return its directory of programs."""
    venv.create(place / "venv", with_pip=False)
    pip = [sys.executable, "-m", "pip", "--python", str(place / "venv/bin/python"), "install", "--quiet", str(wheel)]
    done = subprocess.run(pip, capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr
    return place / "venv" / "bin"


def _linked(wheel: Path, place: Path, extra: str) -> Path:
    """Make an environment with the wheel and only what the extra needs, linked from this one; return its programs."""
    venv.create(place / "venv", with_pip=False)
    (packages,) = (place / "venv" / "lib").glob("python*/site-packages")
    with zipfile.ZipFile(wheel) as archive:
        archive.extractall(packages)
    (own,) = metadata.distributions(path=[str(packages)])
    for name in _closure(own.requires or [], extra):
        for file in metadata.distribution(name).files or []:
            target = packages / file
            if ".." not in file.parts and not target.exists():
                target.parent.mkdir(parents=True, exist_ok=True)
                target.symlink_to(file.locate())
    return place / "venv" / "bin"


def _closure(requires: list[str], extra: str) -> set[str]:
    """The names of all packages that these requirements lead to."""
    found: set[str] = set()
    seen: set[tuple[str, str]] = set()
    waiting = [(line, extra) for line in requires]
    while waiting:
        line, chosen = waiting.pop()
        wanted = Requirement(line)
        if wanted.marker is not None and not wanted.marker.evaluate({"extra": chosen}):
            continue
        for further in {"", *wanted.extras}:
            if (wanted.name, further) not in seen:
                seen.add((wanted.name, further))
                waiting += [(below, further) for below in metadata.requires(wanted.name) or []]
        found.add(wanted.name)
    return found - {"toolgate"}


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


def test_every_extra_is_tried() -> None:
    project = tomllib.loads((ROOT / "pyproject.toml").read_text())["project"]

    assert set(IMPORTS) == set(project["optional-dependencies"]) - {"all"}


@pytest.mark.parametrize(("extra", "modules"), IMPORTS.items(), ids=list(IMPORTS))
def test_an_extra_works_alone(wheel: Path, tmp_path: Path, extra: str, modules: str) -> None:
    programs = _linked(wheel, tmp_path, extra)

    done = _run(tmp_path, programs / "python", "-c", f"import {modules}")

    assert (done.returncode, done.stderr) == (0, "")
