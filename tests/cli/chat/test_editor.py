"""What the message editor completes."""

from pathlib import Path

from prompt_toolkit.completion import CompleteEvent
from prompt_toolkit.document import Document

from toolgate.cli.chat.editor import ChatCompleter
from toolgate.workspace import Workspace
from toolgate.workspace.own_commands import OwnCommands


def completed(completer: ChatCompleter, text: str) -> list[tuple[str, str]]:
    found = completer.get_completions(Document(text), CompleteEvent(completion_requested=True))
    return [(one.text, one.display_meta_text) for one in found]


def test_own_commands_are_completed_beside_the_built_in_ones(tmp_path: Path) -> None:
    folder = tmp_path / ".toolgate" / "commands"
    folder.mkdir(parents=True)
    (folder / "hello-there.md").write_text("---\ndescription: Greets\n---\nSay hello to $1\n")
    (folder / "help.md").write_text("Not this one\n")
    own = OwnCommands(Workspace(tmp_path))
    completer = ChatCompleter(lambda _: [], lambda: [(f"/{one.name}", one.description) for one in own.all()])
    names = [name for name, _ in completed(completer, "/he")]
    assert sorted(names) == ["/hello-there", "/help"]
    assert completed(completer, "/hello") == [("/hello-there", "Greets")]
    (folder / "help-me.md").write_text("Help\n")
    assert "/help-me" in [name for name, _ in completed(completer, "/help")]


def test_arguments_of_a_command_are_completed_as_paths() -> None:
    completer = ChatCompleter(lambda typed: [f"{typed}.py"], lambda: [("/mine", "x")])
    assert completed(completer, "/mine src") == [("src.py", "")]
