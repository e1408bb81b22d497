"""Every example in README.md and docs/ runs: `python` blocks as one program per page, `console` blocks line by line."""

import ast
import asyncio
import codeop
import inspect
import os
import re
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any, NamedTuple

import pytest

ROOT = Path(__file__).parent.parent
PAGES = [ROOT / "README.md", *sorted((ROOT / "docs").rglob("*.md"))]
_FENCE = re.compile(r"^```(\w+)\n(.*?)^```$", re.MULTILINE | re.DOTALL)


class Block(NamedTuple):
    """A fenced example and where it stands."""

    page: Path
    line: int
    language: str
    code: str


def _blocks(page: Path, language: str) -> list[Block]:
    text = page.read_text(encoding="utf-8")
    return [
        Block(page, text.count("\n", 0, match.start()) + 2, language, match.group(2))
        for match in _FENCE.finditer(text)
        if match.group(1) == language
    ]


def _pages_with(language: str) -> list[Any]:
    return [_named(page) for page in PAGES if _blocks(page, language)]


def _named(page: Path) -> Any:
    return pytest.param(page, id=str(page.relative_to(ROOT)))


@pytest.fixture
def project(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """The small project that the examples are about, as the current directory."""
    project = tmp_path / "project"
    (project / "src").mkdir(parents=True)
    (project / "src" / "app.py").write_text("def main():\n    pass  # TODO: say something\n")
    (project / "README.md").write_text("# A project\n")
    monkeypatch.chdir(project)
    monkeypatch.setenv("XDG_CONFIG_HOME", str(tmp_path / "config"))
    monkeypatch.setenv("XDG_DATA_HOME", str(tmp_path / "data"))
    return project


@pytest.mark.usefixtures("project")
@pytest.mark.parametrize("page", _pages_with("python"))
def test_python_examples_run(page: Path) -> None:
    async def program() -> None:
        names: dict[str, Any] = {"__name__": "example"}
        for block in _blocks(page, "python"):
            padded = "\n" * (block.line - 1) + block.code
            code = compile(padded, str(page), "exec", flags=ast.PyCF_ALLOW_TOP_LEVEL_AWAIT)
            outcome = eval(code, names)
            if inspect.isawaitable(outcome):
                await outcome

    asyncio.run(program())


TUTORIALS = [ROOT / "docs/tutorial.md", ROOT / "docs/zh/tutorial.md"]


@pytest.mark.parametrize("page", [_named(page) for page in (ROOT / "README.md", *TUTORIALS)])
def test_examples_can_be_typed_into_python(page: Path) -> None:
    compiler = codeop.CommandCompiler()
    compiler.compiler.flags |= ast.PyCF_ALLOW_TOP_LEVEL_AWAIT
    for block in _blocks(page, "python"):
        typed = list[str]()
        for line in [*block.code.split("\n"), ""]:
            typed.append(line)
            if compiler("\n".join(typed), str(page), "single") is not None:  # a statement is complete
                typed.clear()


@pytest.mark.parametrize("page", [_named(page) for page in TUTORIALS])
def test_the_tutorial_works_from_an_empty_directory(page: Path, tmp_path: Path) -> None:
    path = f"{Path(sys.executable).parent}:{os.environ['PATH']}"
    environment = {**os.environ, "PATH": path, "HOME": str(tmp_path), "XDG_CONFIG_HOME": str(tmp_path / "config")}
    _, made, served = _blocks(page, "sh")  # installing is what `make` and tests of the package do
    typed = "\n\n".join(block.code for block in _blocks(page, "python"))
    tool = served.code.replace("toolgate serve --coding", "toolgate tools")
    script = f"set -e\n{made.code}\npython -m asyncio <<'TYPED'\n{typed}\nTYPED\n{tool}"
    done = subprocess.run(
        ["bash", "-c", script], cwd=tmp_path, env=environment, capture_output=True, text=True, check=False
    )
    assert done.returncode == 0, done.stderr
    assert "Error" not in done.stderr
    assert "stock" in done.stdout


@pytest.mark.parametrize("page", _pages_with("console"))
def test_console_examples_print_what_they_show(page: Path, project: Path) -> None:
    path = f"{Path(sys.executable).parent}:{os.environ['PATH']}"
    for block in _blocks(page, "console"):
        for command, expected in _commands(block.code):
            done = subprocess.run(
                ["bash", "-c", command],
                cwd=project,
                env={**os.environ, "PATH": path},
                stdin=subprocess.DEVNULL,
                stdout=subprocess.PIPE,
                stderr=subprocess.STDOUT,
                text=True,
                check=False,
            )
            assert _fits(done.stdout, expected), f"{page.name}: $ {command}\n{done.stdout}"


def _commands(code: str) -> Iterator[tuple[str, str]]:
    """(command, what it should print) of a console block."""
    for part in re.split(r"^\$ ", code, flags=re.MULTILINE)[1:]:
        command, _, output = part.partition("\n")
        yield command, output


def _fits(actual: str, expected: str) -> bool:
    """`…` stands for anything."""
    pattern = ".*?".join(re.escape(piece) for piece in expected.rstrip("\n").split("…"))
    return re.fullmatch(pattern + r"\s*", actual, re.DOTALL) is not None


def test_a_wrong_output_does_not_fit() -> None:
    assert not _fits("ask\nmore\n", "deny\n…\n")


@pytest.mark.parametrize("page", [_named(page) for page in PAGES])
def test_links_lead_somewhere(page: Path) -> None:
    links = re.findall(r"\]\((?!https?:|#)([^)#]+)", page.read_text(encoding="utf-8"))

    assert [link for link in links if not (page.parent / link).exists()] == []


def test_every_make_target_that_is_mentioned_exists() -> None:
    targets = set(re.findall(r"^([a-z-]+):", (ROOT / "Makefile").read_text(encoding="utf-8"), re.MULTILINE))
    pages = [*PAGES, ROOT / "CONTRIBUTING.md"]
    mentioned = {
        name
        for page in pages
        for name in re.findall(r"(?:`|^ *)make ([a-z-]+)", page.read_text(encoding="utf-8"), re.MULTILINE)
    }

    assert mentioned - targets == set()


def test_every_make_target_has_help() -> None:
    lines = (ROOT / "Makefile").read_text(encoding="utf-8").splitlines()
    targets = [line for line in lines if re.match(r"[a-z-]+:", line)]

    assert [line for line in targets if "## " not in line] == []


def test_the_index_lists_every_page() -> None:
    index = (ROOT / "docs" / "index.md").read_text(encoding="utf-8")
    pages = [page.name for page in sorted((ROOT / "docs").glob("*.md")) if page.name != "index.md"]

    assert [page for page in pages if f"({page})" not in index] == []


def test_the_decisions_are_listed() -> None:
    folder = ROOT / "docs" / "decisions"
    index = (folder / "README.md").read_text(encoding="utf-8")

    assert [page.name for page in sorted(folder.glob("0*.md")) if f"({page.name})" not in index] == []
