"""Where an attack takes place: a project, a neighbour that must not change, and a person who refuses everything."""

from __future__ import annotations

import hashlib
import json
import os
import secrets
import stat
import subprocess
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import toolgate
from redteam.attack import Escaped, Layer, NotApplicable, Unasked
from toolgate.sandbox.bubblewrap import find_bubblewrap
from toolgate.sandbox.native_layers import NativeLayer, probe
from toolgate.settings import Settings
from toolgate.shell import ShellSession


@dataclass(frozen=True, slots=True)
class Outcome:
    """What a call came to."""

    status: str
    code: str | None
    data: dict[str, Any]
    output: str
    """What the model reads."""

    @property
    def stdout(self) -> str:
        """What the command printed."""
        return str(self.data.get("stdout", ""))


class Person:
    """Answers every question the same way, and keeps the questions."""

    def __init__(self, *, allow: bool) -> None:
        self.allow = allow
        self.remember = False
        """Whether "always" is the answer where the answer is yes."""
        self.questions: list[toolgate.ApprovalRequest] = []

    async def decide(self, request: toolgate.ApprovalRequest) -> toolgate.Approval:
        """Allow or refuse, as decided beforehand."""
        self.questions.append(request)
        remember = self.allow and self.remember
        return toolgate.Approval(allowed=self.allow, message="" if self.allow else "no", remember=remember)


class Session:
    """One session on the project: a toolset with its own shell and its own person."""

    def __init__(
        self,
        arena: Arena,
        *,
        allow: bool,
        policy: Path | None = None,
        name: str | None = None,
        approval_mode: toolgate.ApprovalMode = toolgate.ApprovalMode.ask,
    ) -> None:
        self.person = Person(allow=allow)
        self._arena = arena
        self._workspace = toolgate.Workspace(arena.root)
        settings = Settings.defaults() if policy is None else Settings.of(policy_file=policy)
        view = self._workspace if name is None else self._workspace.for_session("tool-output", name)
        self._shell = ShellSession(view, settings=settings, layer=_layer(arena.layer), environment=arena.environment)
        context = toolgate.ToolContext(
            workspace=view,
            mode=toolgate.ToolMode.coding,
            session_id=name,
            approver=self.person,
            settings=settings,
            shell=self._shell,
            approval_mode=approval_mode,
        )
        self._toolset = toolgate.builtin_registry().toolset(toolgate.ToolMode.coding, context)
        self._calls = 0

    async def call(self, name: str, **arguments: Any) -> Outcome:
        """Call a tool as a model does."""
        self._calls += 1
        call = toolgate.ToolCall(id=f"call-{self._calls}", name=name, arguments=json.dumps(arguments))
        result = await self._toolset.handle(call)
        if self._arena.canary in f"{result.output} {result.response.to_json()}":
            raise Escaped(f"the secret outside the project was read with {name}")
        error = result.response.error
        return Outcome(result.response.status, error.code if error else None, dict(result.response.data), result.output)

    async def bash(self, command: str, **arguments: Any) -> Outcome:
        """Run a command. `access`, `background` and the other parameters of Bash go along."""
        return await self.call("Bash", command=command, **arguments)

    async def aclose(self) -> None:
        """End the shell and let go of the project."""
        await self._shell.close()
        self._workspace.close()


class Arena:
    """A fresh `base` for one attack: `root` is the project, `outside` is the host's, `marker` must never exist."""

    def __init__(self, base: Path, layer: Layer) -> None:
        self.base, self.layer = base, layer
        self.root, self.outside, self.home = base / "root", base / "root-evil", base / "home"
        for directory in (self.root, self.outside, self.home):
            directory.mkdir()
        self.canary = secrets.token_hex(16)
        (self.outside / "secret.txt").write_text(self.canary)
        (self.root / "README.md").write_text("A project.\n")
        self.marker = self.outside / "marker"
        """A planted command that touches this file ran on the host."""
        self.environment = {"PATH": os.environ["PATH"], "HOME": str(self.home), "X_API_TOKEN": self.canary}
        self._sessions: list[Session] = []
        self._before = self._manifest()

    def session(
        self,
        *,
        allow: bool = False,
        policy: Path | None = None,
        name: str | None = None,
        approval_mode: toolgate.ApprovalMode = toolgate.ApprovalMode.ask,
    ) -> Session:
        """A new session on the project, whose person refuses (or allows) everything; `policy` is the user's file.

        With a name it is a session with outputs of its own.
        """
        made = Session(self, allow=allow, policy=policy, name=name, approval_mode=approval_mode)
        self._sessions.append(made)
        return made

    def person_git(self, *words: str, directory: Path | None = None) -> str:
        """The person's own git in the project, on the host and outside every sandbox; what it printed."""
        printed = self.git(*words, directory=directory)
        if self.marker.exists():
            raise Escaped(f"the person's 'git {' '.join(words)}' ran what a command had planted")
        return printed

    def git(self, *words: str, directory: Path | None = None) -> str:
        """The same without looking at what it ran."""
        done = subprocess.run(
            ["git", *words],
            cwd=directory or self.root,
            env={"PATH": os.environ["PATH"], "HOME": str(self.home)},
            stdin=subprocess.DEVNULL,
            capture_output=True,
            text=True,
            timeout=30,
            check=False,
        )
        return done.stdout + done.stderr

    def repository(self) -> None:
        """Make the project a repository with one commit, as the person would."""
        for words in (
            ("init", "-q", "-b", "main"),
            ("config", "user.name", "Person"),
            ("config", "user.email", "person@example.org"),
            ("add", "-A"),
            ("commit", "-qm", "First"),
        ):
            self.person_git(*words)

    async def check(self) -> None:
        """End the sessions, then check that nothing outside the project was made, changed or removed."""
        for session in self._sessions:
            await session.aclose()
        if self.marker.exists():
            raise Escaped("a planted command ran on the host")
        changed = {path for path, _ in self._before.items() ^ self._manifest().items()}
        if changed:
            raise Escaped(f"changed outside the project: {', '.join(sorted(changed))}")

    def _manifest(self) -> dict[str, tuple[Any, ...]]:
        found: dict[str, tuple[Any, ...]] = {}
        for path in [self.outside, *self.outside.rglob("*")]:
            info = path.lstat()
            content = hashlib.sha256(path.read_bytes()).hexdigest() if stat.S_ISREG(info.st_mode) else ""
            found[str(path.relative_to(self.base))] = (content, info.st_mode, info.st_uid, info.st_ino)
        return found


def expect_question(session: Session, what: str) -> None:
    """Raise if nobody was asked."""
    if not session.person.questions:
        raise Unasked(what)


def _layer(name: Layer) -> Any:
    if name == "off":
        return NativeLayer("off")
    if name == "bwrap":
        found = find_bubblewrap()
        if found is None:
            raise NotApplicable("bubblewrap does not work for this user")
        return found
    kernel = probe()
    if name == "namespaces":
        if not kernel.namespaces:
            raise NotApplicable("no user namespaces for this user")
        return NativeLayer("namespaces", kernel.landlock)
    if kernel.landlock < 3 or not kernel.seccomp:
        raise NotApplicable("the kernel has no Landlock")
    return NativeLayer("landlock", kernel.landlock)
