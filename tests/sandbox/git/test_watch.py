"""Nothing that exists only while a job runs is seen by the person's git."""

import asyncio
from collections.abc import Iterator

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


NESTED = "git init -q sub/n; cd sub/n; git -c user.name=a -c user.email=b commit -q --allow-empty -m x; cd ../..; "


def test_nothing_that_exists_only_while_a_job_runs_is_seen_by_the_persons_git(person: Person) -> None:
    person.repository()
    person.shells.commands(NESTED, "git add sub/n")
    loop = (
        "while true; do echo ../evil > .git/commondir; printf '[core]\\nfsmonitor=./evil.sh\\n' > .git/config;"
        " printf '[core]\\nfsmonitor=../../evil.sh\\n' > sub/n/.git/config; touch up; done 2>/dev/null"
    )

    async def script(session: ShellSession) -> None:
        await session.execute(loop, background=True)
        while not (person.root / "up").exists():
            await asyncio.sleep(0.01)
        for _ in range(10):
            await asyncio.to_thread(person.git, "status")
        await session.execute("true")

    person.shells.run_apart(script)

    person.works("sub/n")
