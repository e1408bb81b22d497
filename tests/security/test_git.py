"""The person's own git in the root never runs what a command planted, and nothing is mounted through a link."""

import asyncio
import os
import shutil
import subprocess
import threading
from collections.abc import Iterator
from pathlib import Path

import pytest

from tests.support.privileges import UIDS, run_as
from tests.support.shells import Shells, shells_for
from toolgate.errors import ToolError
from toolgate.sandbox.root_directory import RootDirectory
from toolgate.sandbox.stubs import Stubs
from toolgate.shell.options import ShellOptions
from toolgate.shell.result import CommandResult
from toolgate.shell.session import ShellSession
from toolgate.workspace import Workspace

IDENTITY = ["-c", "user.name=p", "-c", "user.email=p@example.org", "-c", "protocol.file.allow=always"]
MARK = "ran-by-git"
USES = (["status"], ["diff"], ["rebase", "--continue"], ["commit", "-qm", "x", "--allow-empty"])
FSMONITOR = "printf '[core]\\nfsmonitor = ../../evil.sh\\n'"
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


class Person:
    """The person who uses git in the root, with a program lying there that must never run."""

    def __init__(self, shells: Shells) -> None:
        self.shells, self.root = shells, shells.root
        self.mark = shells.root.parent / MARK
        self.evil = shells.root / "evil.sh"
        self.evil.write_text(f"#!/bin/sh\ntouch {self.mark}\n")
        self.evil.chmod(0o755)
        self.own()

    def own(self) -> None:
        if os.geteuid() == 0:
            for path in (self.root, *self.root.rglob("*")):
                os.chown(path, self.shells.uid, self.shells.uid, follow_symlinks=False)

    def git(self, *words: str, directory: str = ".") -> subprocess.CompletedProcess[str]:
        return run_as(self.shells.uid, lambda: self._call(directory, *words))

    def _call(self, directory: str, *words: str) -> subprocess.CompletedProcess[str]:
        return subprocess.run(
            ["git", *IDENTITY, *words],
            cwd=self.root / directory,
            env={"PATH": os.environ["PATH"], "HOME": "/nonexistent", "GIT_CONFIG_NOSYSTEM": "1"},
            capture_output=True,
            text=True,
            check=False,
            timeout=30,
        )

    def repository(self) -> None:
        self.git("init", "-q", ".")
        (self.root / "f").write_text("one\n")
        self.own()
        self.git("add", "f")
        assert self.git("commit", "-qm", "first").returncode == 0

    def works(self, *directories: str) -> None:
        """Use git as people do, everywhere in the root."""

        def use() -> None:
            for directory in (".", "sub", *directories):
                for words in USES:
                    self._call(directory, *words)

        run_as(self.shells.uid, use)
        assert not self.mark.exists(), "git ran what a command planted"


@pytest.fixture
def person(shells: Shells) -> Person:
    return Person(shells)


def planted(result: CommandResult) -> str:
    assert "set aside" in result.stderr, result
    return result.stderr


MOVED = f"cp -r sub/n/.git g; {FSMONITOR} >> g/config; rm -rf sub/n/.git"
NESTED = "git init -q sub/n; cd sub/n; git -c user.name=a -c user.email=b commit -q --allow-empty -m x; cd ../..; "


def test_a_nested_repository_that_becomes_a_gitlink_runs_nothing(person: Person) -> None:
    person.repository()
    made, added = person.shells.commands(NESTED + f"{FSMONITOR} >> sub/n/.git/config", "git add sub/n && git status")

    assert "sub/n/.git/config" in planted(made)
    assert added.exit_code == 0
    assert "160000" in person.git("ls-files", "-s").stdout
    person.works("sub/n")


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


def test_a_submodule_keeps_its_repository(person: Person) -> None:
    other = person.root.parent / "other"
    person.repository()
    shutil.copytree(person.root, other)
    if os.geteuid() == 0:
        for path in (other, *other.rglob("*")):
            os.chown(path, person.shells.uid, person.shells.uid)
    assert person.git("submodule", "add", "-q", str(other), "deep/module").returncode == 0
    person.git("commit", "-qam", "module")
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


def test_stubs_are_never_made_or_removed_through_a_link(tmp_path: Path) -> None:
    root, evil = tmp_path / "root", tmp_path / "evil"
    root.mkdir()
    evil.mkdir()
    (root / "way").symlink_to(evil)
    opened = RootDirectory(str(root))
    stubs = Stubs(opened)
    with pytest.raises(OSError, match="symbolic"):
        stubs.ensure("way/file", file=True)
    (root / "way").unlink()
    (root / "way").mkdir()
    assert stubs.ensure("way/file", file=True)
    (evil / "file").touch(0o600)
    (evil / "file").chmod(0o1600)
    (root / "way").rename(root / "old")
    (root / "way").symlink_to(evil)
    stubs.release()
    opened.close()

    assert [path.name for path in evil.iterdir()] == ["file"]


def test_thousands_of_directories_in_the_repository_cost_a_command_nothing(person: Person) -> None:
    person.repository()
    for number in range(3000):
        (person.root / ".git" / "modules" / f"m{number}" / "objects").mkdir(parents=True)
        (person.root / ".git" / "modules" / f"m{number}" / "HEAD").touch()
    person.own()

    assert person.shells.command("echo works").stdout == "works\n"


def test_control_git_answers_as_usual_where_there_is_no_repository(person: Person) -> None:
    first, second = person.shells.commands("git add f; git commit -m x", "git status")

    assert (first.exit_code, second.exit_code) == (128, 128)
    assert "not a git repository" in first.stderr
