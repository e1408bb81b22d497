"""Protected paths: they stay as they are, and cannot be made."""

import os
import subprocess
from itertools import product
from pathlib import Path
from typing import get_args

import pytest

from tests.sandbox.kit import VIEWED, VIEWS
from tests.support.shells import CANARY, Shells
from toolgate.errors import ToolError
from toolgate.protocol.plan import Access
from toolgate.shell.options import ShellOptions
from toolgate.shell.session import ShellSession


def repository(shells: Shells) -> None:
    subprocess.run(["git", "init", "-q", shells.root], check=True)
    (shells.root / ".git" / "hooks" / "pre-commit").write_text("original")
    for path in (shells.root / ".git", *(shells.root / ".git").rglob("*")):
        os.chown(path, shells.uid, shells.uid) if os.geteuid() == 0 else None


ATTACKS = [
    "echo evil > .git/config",
    "echo evil > .git/hooks/pre-commit",
    "echo evil > .git/hooks/new",
    "rm -rf .git/hooks; mkdir .git/hooks && echo evil > .git/hooks/new",
    "mv .git/hooks .git/old; mkdir .git/hooks && echo evil > .git/hooks/new",
    "mv .git .moved; mkdir -p .git/hooks && echo evil > .git/hooks/new",
    "ln -sfn ../sub .git/hooks",
    "git config core.pager evil",
    "chmod -R 777 .git/hooks; echo evil > .git/hooks/pre-commit",
    "mkdir -p .toolgate && echo evil > .toolgate/policy.toml",
    "rmdir .toolgate; ln -s sub .toolgate; echo evil > .toolgate/policy.toml",
    "cp -r .git /tmp/copy; echo evil > /tmp/copy/config; mv /tmp/copy/config .git/config",
    "unshare -rm umount .git/config; echo evil > .git/config",
    "mount -o remount,rw .git/config; echo evil > .git/config",
    'python3 -I -c \'import os; os.rename("sub", ".git/hooks")\'',
]


def protected_state(root: Path) -> list[tuple[str, bytes]]:
    found = []
    for name in (".git/hooks", ".git/config", ".toolgate"):
        for path in sorted([root / name, *(root / name).rglob("*")]):
            if path.is_file():
                found.append((str(path.relative_to(root)), path.read_bytes()))
    return found


@VIEWED
def test_protected_paths_that_exist_stay_as_they_are(shells: Shells) -> None:
    repository(shells)
    before = protected_state(shells.root)
    results = shells.commands(*ATTACKS)

    assert protected_state(shells.root) == before
    assert (shells.root / ".git" / "hooks").is_dir()
    assert not any(result.timed_out for result in results)


@VIEWED
def test_protected_paths_that_do_not_exist_cannot_be_made(shells: Shells) -> None:
    shells.commands(*ATTACKS, "git init; git init -q sub/../.", "ln -s /etc .git", "echo gitdir: /tmp > .git")

    assert not (shells.root / ".git").exists()
    assert not (shells.root / ".toolgate").exists()
    assert sorted(path.name for path in shells.root.iterdir()) == ["sub"]


@VIEWED
def test_what_redirects_gits_configuration_cannot_be_made(shells: Shells) -> None:
    repository(shells)
    result = shells.command("mkdir evil; echo ../evil > .git/commondir")

    assert "Read-only file system" in result.stderr
    assert not (shells.root / ".git" / "commondir").exists()


@VIEWED
@pytest.mark.parametrize("name", [".git", ".toolgate"])
def test_a_protected_path_that_is_a_link_stops_writing_access(shells: Shells, name: str) -> None:
    repository(shells)
    target = shells.root / name
    if target.exists():
        target.rename(shells.root / "moved")
    target.symlink_to(shells.root / "sub")

    async def script(session: ShellSession) -> str:
        with pytest.raises(ToolError) as caught:
            await session.execute("true")
        return caught.value.message

    assert "cannot be protected" in shells.run(script)


@pytest.mark.parametrize("exists", [True, False], ids=["existing", "missing"])
@pytest.mark.parametrize(
    ("layer", "access"), [*product(VIEWS, get_args(Access)), ("landlock", "read")], indirect=["layer"]
)
def test_commands_run_if_a_hidden_path_lies_in_a_hidden_directory(shells: Shells, access: Access, exists: bool) -> None:
    directory = shells.root / "mine"
    if exists:
        (directory / "deep").mkdir(parents=True)
        for name in ("hooks.json", "config.toml", ".env", "deep/own.db"):
            (directory / name).write_text(CANARY)
            (directory / name).chmod(0o644)
    names = ("config.toml", "", "hooks.json", "deep/own.db", "deep/own.db-wal")
    shells.options = ShellOptions(hidden=tuple(str(directory / name) for name in names))
    shells.guarded = True
    shells.denied = ("mine/deep", "mine/deep/**")
    before = sorted(directory.rglob("*"))

    results = shells.commands(
        "echo ran",
        "cat mine/* mine/.env mine/deep/*; echo evil > mine/hooks.json; echo evil > mine/new; mkdir -p mine/deep/x",
        "echo ran",
        access=access,
    )

    assert [results[0].stdout, results[2].stdout] == ["ran\n", "ran\n"]
    assert CANARY not in "".join(result.stdout for result in results)
    assert sorted(directory.rglob("*")) == before
    assert directory.exists() is exists


@VIEWED
def test_a_hidden_directory_that_does_not_exist_can_be_made_by_the_user(shells: Shells) -> None:
    directory = shells.root / "mine"
    shells.options = ShellOptions(
        hidden=(str(directory / "config.toml"), str(directory), str(directory / "hooks.json"))
    )

    async def script(session: ShellSession) -> str:
        await session.execute("true")
        directory.mkdir(exist_ok=True)
        (directory / "hooks.json").write_text(CANARY)
        return (await session.execute("cat mine/hooks.json; echo ran")).stdout

    assert shells.run(script) == "ran\n"


@VIEWED
def test_commands_run_if_a_hidden_path_lies_in_a_hidden_directory_beside_the_project(shells: Shells) -> None:
    beside = shells.root.parent / "beside"
    (beside / "mine").mkdir(parents=True)
    for path in (beside, beside / "mine"):
        path.chmod(0o755)
    (beside / "mine/hooks.json").write_text(CANARY)
    hidden = tuple(str(beside / name) for name in ("mine/config.toml", "mine", "mine/hooks.json"))
    shells.options = ShellOptions(hidden=hidden, extra=(str(beside),))

    assert shells.command(f"cat {beside}/mine/hooks.json; echo ran").stdout == "ran\n"


@VIEWED
def test_commands_run_if_the_users_directory_lies_in_a_home_that_is_the_project(shells: Shells) -> None:
    users = shells.root / ".config/toolgate"
    users.mkdir(parents=True)
    for name in ("hooks.json", "config.toml"):
        (users / name).write_text(CANARY)
    shells.environment = {"HOME": str(shells.root)}
    shells.options = ShellOptions(hidden=tuple(map(str, (users / "config.toml", users, users / "hooks.json"))))

    assert shells.command("cat .config/toolgate/*; echo ran").stdout == "ran\n"


@VIEWED
@pytest.mark.parametrize("way", ["policy.toml", "way/policy.toml"])
def test_a_hidden_path_that_is_a_link_stops_writing_access_because_a_command_could_replace_it(
    shells: Shells, way: str
) -> None:
    """What a command put in its place would be the next policy."""
    (shells.root / "real").mkdir()
    (shells.root / "real/policy.toml").write_text(CANARY)
    (shells.root / way.partition("/")[0]).symlink_to("real" if "/" in way else "real/policy.toml")
    shells.options = ShellOptions(hidden=(str(shells.root / way),))

    async def script(session: ShellSession) -> str:
        with pytest.raises(ToolError) as caught:
            await session.execute(f"rm -r {way.partition('/')[0]}; mkdir -p way; echo evil > {way}")
        assert (await session.execute(f"cat {way} real/*; true", access="read")).stdout == ""
        return caught.value.message

    assert "cannot be protected" in shells.run(script)
    assert (shells.root / way).read_text() == CANARY
