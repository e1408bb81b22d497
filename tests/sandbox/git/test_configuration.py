"""What the person's git configuration names in the tree cannot be written."""

from collections.abc import Iterator

import pytest

from tests.sandbox.git.kit import Person
from tests.support.privileges import UIDS
from tests.support.shells import Shells, shells_for


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


@pytest.mark.parametrize("exists", [True, False])
def test_what_the_persons_configuration_names_in_the_tree_cannot_be_written(person: Person, exists: bool) -> None:
    person.repository()
    person.git("config", "include.path", "../team/gitconfig")
    person.git("config", "core.hooksPath", ".githooks/all")
    person.git("config", "filter.x.clean", "./tools/clean.sh %f")
    (person.root / "tools").mkdir()
    (person.root / "tools" / "clean.sh").write_text("#!/bin/sh\ncat\n")
    if exists:
        (person.root / "team").mkdir()
        (person.root / "team" / "gitconfig").write_text("[color]\n\tui = false\n")
        (person.root / ".githooks" / "all").mkdir(parents=True)
    person.own()
    person.shells.commands(
        "mkdir -p team .githooks/all; printf '[core]\\nfsmonitor=./evil.sh\\n' > team/gitconfig",
        "mv team t; mkdir team; printf '[core]\\nfsmonitor=./evil.sh\\n' > team/gitconfig",
        "cp evil.sh .githooks/all/pre-commit",
        "mv .githooks g; mkdir -p .githooks/all; cp evil.sh .githooks/all/pre-commit",
        "cp evil.sh tools/clean.sh; mv tools t2; mkdir tools; cp evil.sh tools/clean.sh",
    )
    (person.root / ".gitattributes").write_text("* filter=x\n")
    person.git("add", ".")

    person.works()
