"""The repository of the project: no command but git writes it."""

from collections.abc import Iterator
from pathlib import Path

import pytest

from tests.sandbox.git.kit import Person
from tests.support.privileges import UIDS
from tests.support.shells import Shells, shells_for
from toolgate.shell.session import ShellSession


@pytest.fixture(params=["bwrap", "namespaces"])
def layer(request: pytest.FixtureRequest) -> str:
    """The layers that can make a writable root."""
    name: str = request.param
    return name


@pytest.fixture(params=UIDS)
def shells(request: pytest.FixtureRequest, layer: str) -> Iterator[Shells]:
    with shells_for(request.param, layer) as made:
        yield made


@pytest.fixture
def person(shells: Shells) -> Person:
    return Person(shells)


WRITES = [
    "echo ../evil > .git/commondir",
    "mkdir -p .git/commondir.set-aside/x; echo ../evil > .git/commondir",
    "mkdir -p .git/modules/x/objects; echo x > .git/modules/x/HEAD",
    "mkdir -p .git/worktrees/x; echo ../.. > .git/worktrees/x/commondir",
    "printf '[core]\\nfsmonitor=./evil.sh\\n' > .git/config.worktree",
    "mkdir .git/rebase-merge; echo exec ./evil.sh > .git/rebase-merge/git-rebase-todo",
    "mkdir .git/info; echo '* filter=x' > .git/info/attributes",
    "cp evil.sh .git/hooks/pre-commit",
    "git config core.fsmonitor ./evil.sh",
    "git --git-dir=.git config core.fsmonitor ./evil.sh",
    "mv .git g; cp -r g .git; git config core.fsmonitor ./evil.sh",
    "python3 -c \"import os; os.rename('.git', 'g')\"",
    "rm -rf .git/index; echo x > .git/HEAD",
    "git add f | cat; git update-index --add --cacheinfo 160000,$(git rev-parse HEAD),sub | cat",
]


@pytest.mark.parametrize("background", [False, True])
def test_no_command_but_git_writes_the_repository(person: Person, background: bool) -> None:
    person.repository()
    before = tree(person.root / ".git")

    async def script(session: ShellSession) -> None:
        for line in WRITES:
            result = await session.execute(line, background=background)
            if result.job_id:
                await session.jobs.wait(result.job_id)

    person.shells.run(script)

    assert tree(person.root / ".git") == before
    person.works()


def tree(directory: Path) -> dict[str, bytes]:
    return {str(path): path.read_bytes() for path in sorted(directory.rglob("*")) if path.is_file()}


def test_a_separate_git_directory_inside_the_root_cannot_be_written(person: Person) -> None:
    person.git("init", "-q", "--separate-git-dir", "store", ".")
    before = tree(person.root / "store")
    person.shells.commands(
        "printf '[core]\\nfsmonitor=./evil.sh\\n' >> store/config; mv store s; cp evil.sh store/hooks/pre-commit",
        "rm -f .git; echo gitdir: sub > .git",
    )

    assert tree(person.root / "store") == before
    person.works()


@pytest.mark.slow
def test_thousands_of_directories_in_the_repository_cost_a_command_nothing(person: Person) -> None:
    person.repository()
    for number in range(3000):
        (person.root / ".git" / "modules" / f"m{number}" / "objects").mkdir(parents=True)
        (person.root / ".git" / "modules" / f"m{number}" / "HEAD").touch()
    person.own()

    assert person.shells.command("echo works").stdout == "works\n"
