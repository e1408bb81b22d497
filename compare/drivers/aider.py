"""aider: what it does with a model's answer: edits by `Coder.apply_updates`, commands by `run_shell_commands`."""

from __future__ import annotations

import os
from pathlib import Path
from typing import Any

from compare.driver import Answer, Driver, Person


class Contender(Driver):
    """A coder per edit format, on a chat without files; every confirmation goes to the person."""

    def __init__(self, root: Path, person: Person) -> None:
        super().__init__(root, person)
        from aider.coders import Coder
        from aider.io import InputOutput
        from aider.models import Model

        class Asking(InputOutput):  # type: ignore[misc]  # the package has no types
            """Asks the person in place of the terminal."""

            def confirm_ask(self, question: str, default: str = "y", subject: str | None = None, **_: Any) -> bool:
                return person.answer(f"{question} {subject}")

        os.chdir(root)
        console = Asking(pretty=False, fancy_input=False, yes=None)
        options = {"io": console, "use_git": False, "auto_commits": False, "map_tokens": 0, "stream": False}
        model = Model("gpt-4o")
        self._coders = {name: Coder.create(main_model=model, edit_format=name, **options) for name in ("whole", "diff")}
        for coder in self._coders.values():
            coder.root = str(root)

    @classmethod
    def load(cls) -> None:
        """Import aider; making a model imports what it needs."""
        import aider.coders
        import aider.io  # noqa: F401
        from aider.models import Model

        Model("gpt-4o")

    def _applied(self, name: str, answer: str) -> Answer:
        coder = self._coders[name]
        coder.partial_response_content = answer
        coder.partial_response_function_call = {}
        edited = coder.apply_updates()
        return Answer(", ".join(edited) or str(coder.reflected_message), failed=not edited)

    def write(self, path: str, text: str) -> Answer:
        """The edit format `whole`."""
        return self._applied("whole", f"{path}\n```\n{text}```\n")

    def edit(self, path: str, old: str, new: str) -> Answer:
        """The edit format `diff`: one SEARCH/REPLACE block."""
        block = f"<<<<<<< SEARCH\n{old}\n=======\n{new}\n>>>>>>> REPLACE"
        return self._applied("diff", f"{path}\n```\n{block}\n```\n")

    def run(self, command: str, seconds: float) -> Answer:
        """A suggested command; there is no time limit."""
        coder = self._coders["diff"]
        coder.shell_commands = [command]
        return Answer(coder.run_shell_commands() or "")
