"""The index is read as git reads it, and a repository that a running job can change does not get into it."""

import asyncio
import os
import random
import subprocess
from collections.abc import Iterator
from contextlib import closing
from pathlib import Path

import pytest

from tests.sandbox.git.kit import Person
from tests.support.privileges import UIDS
from tests.support.shells import Shells, shells_for
from toolgate.sandbox.git.index import Reader, UnreadableIndexError, gitlinks, index_reader, tracked
from toolgate.sandbox.root_directory import RootDirectory
from toolgate.shell.result import CommandResult
from toolgate.shell.session import ShellSession
from toolgate.workspace import Workspace


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


NESTED = "git init -q sub/n; cd sub/n; git -c user.name=a -c user.email=b commit -q --allow-empty -m x; cd ../..; "


def test_a_repository_that_a_running_job_can_change_does_not_get_into_the_index(person: Person) -> None:
    person.repository()

    async def script(session: ShellSession) -> CommandResult:
        await session.execute(NESTED)
        await session.execute("touch up; sleep 60", background=True)
        while not (person.root / "up").exists():
            await asyncio.sleep(0.01)
        other = ShellSession(Workspace(person.root), layer=session._layer, environment={"PATH": os.environ["PATH"]})
        result = await other.execute("git add -A")
        await other.close()
        return result

    result = person.shells.run(script)

    assert "taken out of the index" in result.stderr
    listed = person.git("ls-files", "-s").stdout
    assert "160000" not in listed
    assert "evil.sh" in listed


def git(directory: Path, *words: str, stdin: str = "") -> str:
    who = ["-c", "user.name=n", "-c", "user.email=e"]
    done = subprocess.run(["git", *who, *words], cwd=directory, input=stdin, check=True, capture_output=True, text=True)
    return done.stdout


@pytest.fixture
def reader(tmp_path: Path) -> Iterator[Reader]:
    with closing(RootDirectory(str(tmp_path))) as root:
        yield index_reader(root, str(tmp_path / ".git"))


def test_tracked_files_and_directories_are_found_in_every_version(tmp_path: Path, reader: Reader) -> None:
    git(tmp_path, "init", "-q")
    (tmp_path / "vault").mkdir()
    for name in (".editorconfig", ".env", ".eslintrc", "vault/a"):
        (tmp_path / name).write_text("x")
    for version in ("2", "4"):
        git(tmp_path, "add", "-A")
        git(tmp_path, "update-index", "--index-version", version)
        assert tracked(reader, {".env", "vault", "other", "vaul"}) == {".env", "vault"}


@pytest.mark.parametrize("hashes", ["sha1", "sha256"])
@pytest.mark.parametrize("version", ["2", "4"])
def test_a_split_index_is_read_as_git_reads_it(tmp_path: Path, reader: Reader, version: str, hashes: str) -> None:
    git(tmp_path, "init", "-q", f"--object-format={hashes}")
    commit = git(tmp_path, "commit-tree", git(tmp_path, "write-tree").strip(), "-m", "x").strip()
    file = git(tmp_path, "hash-object", "-w", "--stdin", stdin="x").strip()
    git(tmp_path, "update-index", "--index-version", version)
    chosen = random.Random(version + hashes)
    names = [f"{'link' * (n % 3)}{n}" for n in range(300)]

    for step in range(40):
        lines = [
            chosen.choice((f"160000 {commit}\t{name}", f"100644 {file}\t{name}", f"0 {'0' * len(file)}\t{name}"))
            for name in chosen.sample(names, 100 if step % 4 == 0 else 5)
        ]
        git(tmp_path, "update-index", "--index-info", stdin="\n".join(lines))
        if step % 8 == 0:
            git(tmp_path, "update-index", "--split-index")
        listed = [line.split(maxsplit=3) for line in git(tmp_path, "ls-files", "-s").splitlines()]
        assert gitlinks(reader) == {entry[3] for entry in listed if entry[0] == "160000"}
        assert tracked(reader, names) == {entry[3] for entry in listed}
    assert list((tmp_path / ".git").glob("sharedindex.*"))


@pytest.mark.parametrize("cut", [1, 20, 21, 60])
def test_an_index_that_is_cut_off_is_not_read(tmp_path: Path, reader: Reader, cut: int) -> None:
    git(tmp_path, "init", "-q")
    commit = git(tmp_path, "commit-tree", git(tmp_path, "write-tree").strip(), "-m", "x").strip()
    git(tmp_path, "update-index", "--index-info", stdin=f"160000 {commit}\tsub")
    index = tmp_path / ".git" / "index"
    index.write_bytes(index.read_bytes()[:-cut])

    with pytest.raises(UnreadableIndexError):
        gitlinks(reader)


def test_a_split_index_without_its_shared_one_is_not_read(tmp_path: Path, reader: Reader) -> None:
    git(tmp_path, "init", "-q")
    git(tmp_path, "update-index", "--split-index")
    for shared in (tmp_path / ".git").glob("sharedindex.*"):
        shared.unlink()

    with pytest.raises(UnreadableIndexError, match="shared"):
        gitlinks(reader)
