"""What makes git run something in a new repository is set aside and named."""

from collections.abc import Iterator

import pytest

from tests.sandbox.git.kit import Person, planted
from tests.support.privileges import UIDS
from tests.support.shells import Shells, shells_for

FSMONITOR = "printf '[core]\\nfsmonitor = ../../evil.sh\\n'"


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


MOVED = f"cp -r sub/n/.git g; {FSMONITOR} >> g/config; rm -rf sub/n/.git"

NESTED = "git init -q sub/n; cd sub/n; git -c user.name=a -c user.email=b commit -q --allow-empty -m x; cd ../..; "


@pytest.mark.parametrize(
    "line",
    [
        "cp evil.sh sub/n/.git/hooks/pre-commit; cp evil.sh sub/n/.git/hooks/post-commit",
        "rm -rf sub/n/.git/hooks; mkdir h; cp evil.sh h/pre-commit; mv h sub/n/.git/hooks",
        "rm -rf sub/n/.git/hooks; mkdir h; cp evil.sh h/pre-commit; ln -s ../../../h sub/n/.git/hooks",
        "git -C sub/n config core.hooksPath ../../h; mkdir h; cp evil.sh h/pre-commit",
        f"printf '[include]\\n path = ../../../x\\n' >> sub/n/.git/config; {FSMONITOR} > x",
        "printf '[core] fsmonitor = \"../../evil.sh\"' >> sub/n/.git/config",
        f"{FSMONITOR} > x; rm sub/n/.git/config; ln -s ../../../x sub/n/.git/config",
        f"{FSMONITOR} > x; rm sub/n/.git/config; ln x sub/n/.git/config",
        f"mkdir c; cp -r sub/n/.git/* c; {FSMONITOR} >> c/config; echo ../../../c > sub/n/.git/commondir",
        f"{MOVED}; echo gitdir: ../../g > sub/n/.git",
        f"{MOVED}; ln -s ../../g sub/n/.git",
        f"{MOVED}; echo gitdir: /proc/self/cwd/../../g > sub/n/.git",
        "mkdir sub/n/.git/rebase-merge; printf 'exec ../../evil.sh\\n' > sub/n/.git/rebase-merge/git-rebase-todo",
        f"{FSMONITOR} >> sub/n/.git/config; mkdir -p sub/n/.git/config.set-aside/x; chmod 555 sub/n/.git",
        f"git -C sub/n config extensions.worktreeConfig true; {FSMONITOR} > sub/n/.git/config.worktree",
    ],
)
def test_whatever_makes_git_run_something_in_a_new_repository_is_set_aside(person: Person, line: str) -> None:
    person.repository()
    planted(person.shells.command(NESTED + line))

    person.git("add", "sub/n")
    person.works("sub/n")


def test_what_was_prepared_elsewhere_counts_when_it_becomes_a_repository(person: Person) -> None:
    person.repository()
    results = person.shells.commands(
        "mkdir -p store/objects store/refs; printf '[core]\\nfsmonitor = ../evil.sh\\n' > store/config",
        "mkdir sub/n; echo ref: refs/heads/x > store/HEAD; mv store sub/n/.git",
        f"cp -r sub/n /tmp/n; {FSMONITOR} > /tmp/n/.git/config",
        "rm -rf sub/n; cp -r /tmp/n sub/n",
    )

    planted(results[1])
    planted(results[3])
    person.works("sub/n")


def test_a_root_and_a_directory_that_become_bare_repositories_run_nothing(person: Person) -> None:
    config = f"printf '[core]\\nbare = false\\nworktree = .\\nfsmonitor = {person.evil}\\n' > config"
    layout = f"mkdir objects refs; echo ref: refs/heads/x > HEAD; {config}"
    result = person.shells.command(f"{layout}; cd sub; {layout}")

    assert "config" in planted(result)
    assert not (person.root / "config").exists()
    assert not (person.root / "sub" / "config").exists()
    person.works()
