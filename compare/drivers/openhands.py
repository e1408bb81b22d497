"""OpenHands: the executors of its file editor and terminal, behind its confirmation policy."""

from __future__ import annotations

from pathlib import Path
from typing import Any

from compare.driver import Answer, Driver, Person


class Contender(Driver):
    """Every action is confirmed, as the policy says."""

    limits_time = True
    overwrites = False

    def __init__(self, root: Path, person: Person) -> None:
        super().__init__(root, person)
        from openhands.sdk.security.confirmation_policy import AlwaysConfirm
        from openhands.tools.file_editor.impl import FileEditorExecutor

        self._policy = AlwaysConfirm()
        self._editor = FileEditorExecutor(workspace_root=str(root))
        self._terminal: Any = None

    @classmethod
    def load(cls) -> None:
        """Import SDK and tools."""
        import openhands.tools.file_editor.impl
        import openhands.tools.terminal.impl  # noqa: F401

    def _confirmed(self, action: str) -> bool:
        return not self._policy.should_confirm() or self.person.answer(action)

    def _edited(self, command: str, path: str, **arguments: str) -> Answer:
        from openhands.tools.file_editor.definition import FileEditorAction

        if not self._confirmed(f"{command} {path}"):
            return Answer("rejected", failed=True)
        place = path if path.startswith(("/", "file:")) else f"{self.root}/{path}"  # the tool wants absolute paths
        done = self._editor(FileEditorAction(command=command, path=place, **arguments))
        return Answer(done.text, failed=done.is_error)

    def read(self, path: str) -> Answer:
        """`view`."""
        return self._edited("view", path)

    def write(self, path: str, text: str) -> Answer:
        """`create`, which refuses to overwrite."""
        return self._edited("create", path, file_text=text)

    def edit(self, path: str, old: str, new: str) -> Answer:
        """`str_replace`."""
        return self._edited("str_replace", path, old_str=old, new_str=new)

    def run(self, command: str, seconds: float) -> Answer:
        """The terminal, with a hard time-out; it keeps running what did not end in time, until it is reset."""
        from openhands.tools.terminal.definition import TerminalAction
        from openhands.tools.terminal.impl import TerminalExecutor

        if not self._confirmed(command):
            return Answer("rejected", failed=True)
        if self._terminal is None:
            self._terminal = TerminalExecutor(working_dir=str(self.root))
        done = self._terminal(TerminalAction(command=command, timeout=seconds))
        return Answer(done.text, failed=done.is_error or done.exit_code not in (0, None))

    def close(self) -> None:
        """End the terminal."""
        if self._terminal is not None:
            self._terminal.close()
