"""Repositories inside the project that commands make run nothing in the person's git."""

import os
import shutil
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


NESTED = "git init -q sub/n; cd sub/n; git -c user.name=a -c user.email=b commit -q --allow-empty -m x; cd ../..; "


def test_a_nested_repository_that_becomes_a_gitlink_runs_nothing(person: Person) -> None:
    person.repository()
    made, added = person.shells.commands(NESTED + f"{FSMONITOR} >> sub/n/.git/config", "git add sub/n && git status")

    assert "sub/n/.git/config" in planted(made)
    assert added.exit_code == 0
    assert "160000" in person.git("ls-files", "-s").stdout
    person.works("sub/n")


@pytest.mark.parametrize("index", ["--no-split-index", "--split-index"])
def test_a_submodule_keeps_its_repository(person: Person, index: str) -> None:
    other = person.root.parent / "other"
    person.repository()
    shutil.copytree(person.root, other)
    if os.geteuid() == 0:
        for path in (other, *other.rglob("*")):
            os.chown(path, person.shells.uid, person.shells.uid)
    assert person.git("submodule", "add", "-q", str(other), "deep/module").returncode == 0
    person.git("commit", "-qam", "module")
    person.git("update-index", index)
    results = person.shells.commands(
        "git submodule status && git -C deep/module status --short",
        "rm -rf deep/module/.git; mkdir deep/module/.git; cp -r .git/modules/deep/module/* deep/module/.git;"
        " printf '[core]\\nfsmonitor=../../evil.sh\\n' >> deep/module/.git/config",
        "mv deep d; git init -q deep/module; git -C deep/module config core.fsmonitor ../../evil.sh",
        "echo ../../../.. > .git/modules/deep/module/commondir",
        "cd deep/module && echo two > new && ls",
    )

    assert results[0].exit_code == 0, results[0]
    assert results[4].stdout.split() == ["f", "new"]
    assert "gitdir" in (person.root / "deep" / "module" / ".git").read_text()
    person.works("deep/module")


def test_control_test_suites_make_repositories_of_their_own(person: Person) -> None:
    person.repository()
    commit = "git -c user.name=a -c user.email=b commit -q --allow-empty -m x && git status && git log --oneline"
    results = person.shells.commands(
        f"git init -q sub/made && cd sub/made && git config user.name t && {commit}",
        f"cd /tmp && git init -q made && cd made && git config core.hooksPath h && {commit}",
        f"cd {person.root} && git clone -q sub/made sub/cloned && cd sub/cloned && {commit}",
        f"git worktree add -q ../wt && cd ../wt && {commit}; cd {person.root}/sub/made && {commit}",
    )

    for result in results:
        assert result.exit_code == 0, result
        assert "set aside" not in result.stderr, result.stderr
    assert (person.root / "sub" / "made" / ".git" / "config").exists()


def test_control_repositories_that_were_there_before_keep_what_they_run(person: Person) -> None:
    person.repository()
    person.git("init", "-q", "sub/own")
    person.git("config", "core.fsmonitor", "./mine.sh", directory="sub/own")
    hook = person.root / "sub" / "own" / ".git" / "hooks" / "pre-commit"
    hook.parent.mkdir(exist_ok=True)
    hook.write_text("#!/bin/sh\n")
    person.own()
    results = person.shells.commands("touch new", "touch sub/own/x", "mv sub/own sub/moved")

    assert "".join(result.stderr for result in results) == ""
    assert "mine.sh" in (person.root / "sub" / "moved" / ".git" / "config").read_text()
    assert (person.root / "sub" / "moved" / ".git" / "hooks" / "pre-commit").exists()
