"""git as a command of a session: what it may write, and what it says where it is stopped."""

from collections.abc import Iterator

import pytest

from tests.sandbox.git.kit import Person
from tests.support.privileges import UIDS
from tests.support.shells import Shells, shells_for
from toolgate.shell.git_commands import only_reads
from toolgate.shell.state import ShellState

EXPORTS = "export GIT_AUTHOR_NAME=a GIT_AUTHOR_EMAIL=a@b GIT_COMMITTER_NAME=a GIT_COMMITTER_EMAIL=a@b"


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


@pytest.mark.parametrize(
    "line",
    [
        "git config --global core.hooksPath {root}/h; git config --global filter.x.clean {root}/evil.sh",
        'git() {{ command git "$@"; cp evil.sh .git/hooks/pre-commit; }}; export -f git',
        "alias git='./evil.sh; git'",
        "export PATH={root}/bin:$PATH; mkdir bin; cp evil.sh bin/git; cp evil.sh bin/cat",
        "export GIT_EXTERNAL_DIFF={root}/evil.sh GIT_EDITOR={root}/evil.sh GIT_CONFIG_COUNT=1"
        " GIT_CONFIG_KEY_0=core.fsmonitor GIT_CONFIG_VALUE_0={root}/evil.sh LD_PRELOAD={root}/evil.so",
        "export GIT_CONFIG_PARAMETERS=\"'core.fsmonitor'='{root}/evil.sh'\" GIT_EXEC_PATH={root}/bin HOME={root}",
        "trap './evil.sh' DEBUG; PROMPT_COMMAND=./evil.sh; set -T",
    ],
)
def test_git_that_may_write_the_repository_runs_nothing_that_commands_prepared(person: Person, line: str) -> None:
    person.repository()
    copies = f"cp {person.evil} .git/hooks/x; cp {person.evil} $GIT_DIR/planted"
    plant = f"#!/bin/sh\n{{ {copies}; }} 2>/dev/null\ncat\n"
    person.evil.write_text(plant)
    (person.root / ".gitattributes").write_text("* filter=x\n")
    (person.root / "h").mkdir()
    for name in ("pre-commit", "post-commit"):
        (person.root / "h" / name).write_text(plant)
        (person.root / "h" / name).chmod(0o755)
    person.own()
    person.shells.commands(EXPORTS, line.format(root=person.root), "git add -A; git commit -m x; git status")

    assert not (person.root / ".git" / "planted").exists()
    assert not (person.root / ".git" / "hooks" / "x").exists()


def test_the_persons_hooks_do_not_run_and_are_named(person: Person) -> None:
    person.repository()
    hook = person.root / ".git" / "hooks" / "pre-commit"
    hook.parent.mkdir(exist_ok=True)
    hook.write_text(f"#!/bin/sh\ntouch {person.root}/hook-ran\n")
    hook.chmod(0o755)
    person.own()
    _, result = person.shells.commands(EXPORTS, "git commit -q --allow-empty -m x")

    assert result.exit_code == 0
    assert "the hooks pre-commit were not run" in result.stderr
    assert not (person.root / "hook-ran").exists()


def test_control_git_records_work(person: Person) -> None:
    person.repository()
    message = "\"$(cat <<'EOF'\nThird\n\nIt's here.\nEOF\n)\""
    lines = [
        "echo two > g && git add -A && git commit -qm second",
        f"cd {person.root}/sub && echo s > s && git add . && git commit -m {message} 2>&1 | tail -1",
        "cd .. && git switch -qc topic && echo t > t && git add t && git commit -qm topic && git switch -q -",
        "git merge -q --no-ff -m merged topic; git branch -d topic; git tag v1; git tag -a v2 -m two",
        "echo x >> g; git stash -q; git stash pop -q; git restore g; git rm -q t; git reset -q; git checkout -q -- t",
        "git cherry-pick --no-commit HEAD~1 || git reset -q --hard; git mv g h; git commit -qam moved",
        "git revert --no-edit HEAD",
        "git rebase -q HEAD~1; git notes add -m note; git gc -q; git log --oneline | wc -l",
    ]
    results = person.shells.commands(EXPORTS, *lines)

    for line, result in zip(lines, results[1:], strict=True):
        assert result.exit_code == 0, (line, result.stdout, result.stderr)
        assert "toolgate" not in result.stderr + result.stdout, result
    assert "It's here." in person.git("log").stdout
    assert person.git("fsck", "--strict").returncode == 0
    assert person.git("status", "--porcelain").stdout == ""


def test_reading_git_works_while_the_repository_is_read_only(person: Person) -> None:
    person.repository()
    results = person.shells.commands(
        "echo two >> f; git status --short; git diff --stat | cat",
        "git log --oneline | head -1; git worktree list; git branch -a; git stash list",
        "python3 -c \"import subprocess; subprocess.run(['git', 'status'], check=True)\"",
    )

    assert [result.exit_code for result in results] == [0, 0, 0]
    assert results[0].stdout.startswith(" M f\n")


def test_a_git_command_inside_something_else_says_how_it_would_work(person: Person) -> None:
    person.repository()
    for line in ("for i in 1; do git add f; done", "sh -c 'git add f'", "git add f | tee log"):
        result = person.shells.command(f"echo two >> f; {line} ")
        assert "git commands alone" in result.hint, (line, result)


def test_control_git_answers_as_usual_where_there_is_no_repository(person: Person) -> None:
    first, second = person.shells.commands("git add f; git commit -m x", "git status")

    assert (first.exit_code, second.exit_code) == (128, 128)
    assert "not a git repository" in first.stderr


def test_a_very_long_command_line_is_not_read_to_find_out_whether_it_only_reads() -> None:
    state = ShellState(directory=b"/")
    short = "; ".join(["echo a"] * 10)
    assert only_reads(short, state, {})
    assert not only_reads("; ".join(["echo a"] * 1000), state, {})
