"""`toolgate mcp`: what cannot be started is said in one line."""

import subprocess
import sys
from pathlib import Path

import pytest

from tests.adapters.mcp_server.kit import lines

PACKAGES = ("mcp", "mcp_types")


@pytest.fixture
def root(tmp_path: Path) -> Path:
    """A small project."""
    project = tmp_path / "project"
    project.mkdir()
    (project / "a.txt").write_text("one\ntwo\n")
    return project


@pytest.mark.parametrize(
    ("more", "said"),
    [
        (("--tools", "nothing"), "no tool 'nothing' in coding mode; the tools are: read_file,"),
        (("--tools", " , "), "--tools names no tool"),
        (("--port", "80"), "--host and --port belong to --http"),
        (("--root", "no/such/place"), "no/such/place: No such file or directory"),
    ],
)
async def test_a_command_line_that_cannot_be_meant_is_one_clear_line(
    root: Path, more: tuple[str, ...], said: str
) -> None:
    async with lines(root, *more) as server:
        assert await server.ended() == 2
        assert server.process.stderr is not None
        err = (await server.process.stderr.read()).decode()
    assert err.startswith("toolgate mcp: ")
    assert said in err
    assert err.count("\n") == 1


async def test_a_policy_that_cannot_be_read_stops_the_start(root: Path) -> None:
    (root / ".toolgate").mkdir()
    (root / ".toolgate/policy.toml").write_text("[[rule]\n")
    async with lines(root) as server:
        assert await server.ended() == 2


def test_without_the_package_it_says_what_to_install(tmp_path: Path) -> None:
    code = (
        "import sys; sys.modules.update(mcp=None, mcp_types=None); from toolgate.cli import main; "
        "sys.exit(main(['mcp', '--root', sys.argv[1]]))"
    )
    done = subprocess.run([sys.executable, "-c", code, str(tmp_path)], capture_output=True, text=True, check=False)
    assert done.returncode == 2
    assert done.stderr in {f"toolgate mcp: {name} is not installed: pip install 'toolgate[mcp]'\n" for name in PACKAGES}
