"""The repository of the project: no command but git writes it."""

import subprocess
from collections.abc import Iterator
from contextlib import closing
from pathlib import Path

import pytest

from tests.sandbox.git.kit import Person
from tests.support.privileges import UIDS
from tests.support.shells import Shells, shells_for
from toolgate.sandbox.git.repository import Repository
from toolgate.sandbox.root_directory import RootDirectory
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


def test_what_cannot_be_protected_is_said_and_asked_about(person: Person) -> None:
    person.repository()
    commit = person.git("rev-parse", "HEAD").stdout.strip()

    async def script(session: ShellSession) -> list[tuple[str, ...]]:
        said = [session.sandbox("write").unconfined]
        for number in range(129):
            person.git("update-index", "--add", "--cacheinfo", f"160000,{commit},sub{number}")
            (person.root / f"sub{number}").mkdir()
        said.append(session.sandbox("write").unconfined)
        (person.root / ".git" / "index").write_bytes(b"link\0 no index")
        said.append(session.sandbox("write").unconfined)
        return [*said, session.sandbox("read").unconfined]

    whole, many, none, reading = person.shells.run(script)

    assert whole == reading == ()
    assert many == ("only 128 of 129 files and submodules that git reads are protected",)
    assert len(none) == 1
    assert "git's index cannot be read" in none[0]


def test_a_linked_work_tree_is_protected_as_its_repository_says(tmp_path: Path) -> None:
    def git(*words: str) -> str:
        command = ["git", "-c", "user.name=n", "-c", "user.email=e", *words]
        return subprocess.run(command, cwd=tmp_path, check=True, capture_output=True, text=True).stdout.strip()

    git("init", "-q", "main")
    git("-C", "main", "commit", "-q", "--allow-empty", "-m", "first")
    git("-C", "main", "worktree", "add", "-q", "../tree")
    git("-C", "main", "config", "core.hooksPath", "checks")
    git("-C", "tree", "update-index", "--add", "--cacheinfo", f"160000,{git('-C', 'main', 'rev-parse', 'HEAD')},sub")
    (tmp_path / "tree" / "sub").mkdir()

    with closing(RootDirectory(str(tmp_path / "tree"))) as root:
        repository = Repository(root, str(tmp_path))

        assert {pin.relative for pin in repository.pins()} == {"checks", "sub/.git"}
        git("-C", "tree", "update-index", "--force-remove", "sub")
        assert [pin.relative for pin in repository.pins()] == ["checks"]
        assert repository.named() == ("checks",)
