"""The programs of a normal project work under `write`, network aside: those that the machine has."""

import shutil
from collections.abc import AsyncIterator
from pathlib import Path

import pytest

from toolgate.shell import CommandResult, ShellSession
from toolgate.workspace import Workspace

pytestmark = pytest.mark.timeout(120)


@pytest.fixture
async def session(tmp_path: Path) -> AsyncIterator[ShellSession]:
    async with ShellSession(Workspace(tmp_path)) as made:
        yield made


def needs(program: str) -> pytest.MarkDecorator:
    missing = shutil.which(program) is None
    return pytest.mark.skipif(missing, reason=f"{program} is not installed: install it, it is found by PATH")


async def succeeded(session: ShellSession, command: str) -> CommandResult:
    result = await session.execute(command, 100)
    assert result.exit_code == 0, (command, result.stdout[-2000:], result.stderr[-2000:])
    return result


@needs("git")
async def test_git_works_on_a_repository(session: ShellSession, tmp_path: Path) -> None:
    made = await session.execute("git init -q .", access="full")
    assert made.exit_code == 0
    await succeeded(
        session, "export GIT_AUTHOR_NAME=a GIT_AUTHOR_EMAIL=a@b GIT_COMMITTER_NAME=a GIT_COMMITTER_EMAIL=a@b"
    )
    for command in (
        "echo one > f; git add f; git commit -qm first",
        "git checkout -qb topic; echo two >> f; git commit -qam second; git checkout -q -; git merge -q topic",
        "echo three >> f; git stash -q; git stash pop -q; git diff --stat; git checkout -q f",
        "git rebase -q HEAD~1; git tag v1; git gc -q; git worktree list; git mv f g; git reset -q --hard",
    ):
        await succeeded(session, command)

    assert (await succeeded(session, "git log --oneline | wc -l")).stdout == "2\n"


@needs("git")
async def test_git_names_a_way_out_where_it_is_stopped(session: ShellSession) -> None:
    await session.execute("git init -q .", access="full")
    result = await session.execute("git config user.name x")

    assert result.exit_code != 0
    assert 'access="full"' in result.hint


@needs("make")
@needs("gcc")
async def test_make_and_a_compiler_work(session: ShellSession, tmp_path: Path) -> None:
    (tmp_path / "Makefile").write_text("hello: hello.c\n\t$(CC) -o hello hello.c\n")
    (tmp_path / "hello.c").write_text('#include <stdio.h>\nint main(void) { puts("hello"); }\n')

    assert (await succeeded(session, "make -s CC=gcc && ./hello")).stdout == "hello\n"


@needs("python3")
async def test_pip_installs_a_project_and_its_tests_run(session: ShellSession, tmp_path: Path) -> None:
    (tmp_path / "pkg").mkdir()
    (tmp_path / "pkg" / "__init__.py").write_text("ANSWER = 42\n")
    (tmp_path / "test_it.py").write_text(
        "import pkg, unittest\nclass T(unittest.TestCase):\n    def test(self): assert pkg.ANSWER == 42\n"
    )
    await succeeded(session, "python3 -m venv .venv && . .venv/bin/activate && pip --version && pip list")

    assert "OK" in (await succeeded(session, ". .venv/bin/activate; python -m unittest -q 2>&1")).stdout


@needs("pytest")
async def test_pytest_works(session: ShellSession, tmp_path: Path) -> None:
    (tmp_path / "test_it.py").write_text("def test_it(tmp_path):\n    (tmp_path / 'f').write_text('x')\n")
    result = await session.execute("python3 -m pytest -q -p no:cacheprovider", 100)
    if "No module named pytest" in result.stderr:
        pytest.skip("the python3 on PATH has no pytest: pip install pytest")

    assert (result.exit_code, "1 passed" in result.stdout) == (0, True)


@needs("npm")
async def test_npm_runs_scripts(session: ShellSession, tmp_path: Path) -> None:
    (tmp_path / "package.json").write_text('{"name": "x", "version": "1.0.0", "scripts": {"test": "node -p 40+2"}}')

    assert "42" in (await succeeded(session, "npm test --silent")).stdout
    await succeeded(session, "npm install --offline --no-audit --no-fund --loglevel=error")


@needs("cargo")
async def test_cargo_builds_and_tests(session: ShellSession, tmp_path: Path) -> None:
    await succeeded(session, "cargo init --quiet --vcs none --name hello .")

    assert (await succeeded(session, "cargo run --quiet --offline")).stdout == "Hello, world!\n"
