"""What the tools never write."""

import pytest

from toolgate.workspace.protect import is_protected


@pytest.mark.parametrize(
    "path",
    [
        ".git",
        ".git/hooks",
        ".git/hooks/pre-commit",
        ".git/config",
        ".git/config.worktree",
        ".git/commondir",
        ".git/modules/a/b/hooks/x",
        ".git/worktrees/w/config.worktree",
        ".git/info/exclude",
        ".git/refs/heads/main",
        ".git/rebase-merge/git-rebase-todo",
        ".Git/Hooks/x",
        ".GIT/x",
        "vendor/lib/.git/hooks/x",
        ".config/toolgate/config.toml",
        "home/.CONFIG/Toolgate",
        ".toolgate",
        ".toolgate/policy.toml",
        "sub/.toolgate/policy.toml",
    ],
)
def test_protected(path: str) -> None:
    assert is_protected(path.split("/"))


@pytest.mark.parametrize(
    "path",
    [
        "a",
        ".gitignore",
        ".github/x",
        ".git-blame-ignore-revs",
        "hooks/x",
        "config",
        ".toolgates",
        ".config/x/toolgate",
    ],
)
def test_not_protected(path: str) -> None:
    assert not is_protected(path.split("/"))


def test_the_root_itself_is_not_protected() -> None:
    assert not is_protected([])
