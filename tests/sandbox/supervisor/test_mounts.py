"""Nothing is mounted or made through a link that is swapped in."""

import os
import threading
from collections.abc import Iterator

import pytest

from tests.sandbox.git.kit import Person
from tests.support.privileges import UIDS
from tests.support.shells import Shells, shells_for
from toolgate.errors import ToolError
from toolgate.shell.options import ShellOptions
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


def test_nothing_is_mounted_or_made_through_a_link_that_is_swapped_in(person: Person) -> None:
    """Somebody swaps a directory on the way to a protected path while sandboxes are set up."""
    person.repository()
    person.git("config", "core.hooksPath", "way/hooks")
    (person.root / "way" / "hooks").mkdir(parents=True)
    person.own()
    person.shells.options = ShellOptions(hidden=(str(person.root / "way" / "later.db"),))
    ended = threading.Event()

    def swap() -> None:
        link, way, away = person.root / "link", person.root / "way", person.root / "away"
        link.symlink_to(person.shells.evil)
        while not ended.is_set():
            os.rename(way, away)
            os.rename(link, way)
            os.rename(way, link)
            os.rename(away, way)

    async def script(session: ShellSession) -> list[str]:
        worker = threading.Thread(target=swap)
        worker.start()
        seen = []
        try:
            for _ in range(12):
                try:
                    result = await session.execute(
                        "ls way/hooks way; cat way/secret.txt; echo x > way/hooks/pre-commit"
                    )
                    seen.append(result.stdout)
                except (ToolError, OSError) as error:
                    seen.append(str(error))
        finally:
            ended.set()
            worker.join()
        return seen

    seen = person.shells.run_apart(script)

    assert [path.name for path in person.shells.evil.iterdir()] == ["secret.txt"]
    assert "0123456789abcdef" not in "".join(seen)
    assert not list(person.root.rglob("pre-commit"))
