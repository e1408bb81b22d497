"""A person who uses git in the project, beside the commands of a session."""

import os
import subprocess

from tests.support.privileges import run_as
from tests.support.shells import Shells
from toolgate.shell.result import CommandResult

IDENTITY = ["-c", "user.name=p", "-c", "user.email=p@example.org", "-c", "protocol.file.allow=always"]


MARK = "ran-by-git"


USES = (["status"], ["diff"], ["rebase", "--continue"], ["commit", "-qm", "x", "--allow-empty"])


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


def planted(result: CommandResult) -> str:
    assert "set aside" in result.stderr, result
    return result.stderr
