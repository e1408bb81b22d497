"""A repository that a running job can change does not get into the index."""

import asyncio
import os
import subprocess
from collections.abc import Iterator
from pathlib import Path

import pytest

from tests.sandbox.git.kit import Person
from tests.support.privileges import UIDS
from tests.support.shells import Shells, shells_for
from toolgate.sandbox.git.index import tracked
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


def test_tracked_files_and_directories_are_found_in_every_version(tmp_path: Path) -> None:
    subprocess.run(["git", "init", "-q"], cwd=tmp_path, check=True)
    (tmp_path / "vault").mkdir()
    for name in (".editorconfig", ".env", ".eslintrc", "vault/a"):
        (tmp_path / name).write_text("x")
    for version in ("2", "4"):
        subprocess.run(["git", "add", "-A"], cwd=tmp_path, check=True)
        subprocess.run(["git", "update-index", "--index-version", version], cwd=tmp_path, check=True)
        data = (tmp_path / ".git" / "index").read_bytes()
        assert tracked(data, {".env", "vault", "other", "vaul"}) == {".env", "vault"}
