"""Shift-Tab and /permissions at a real terminal: the approval mode, and what is allowed for good."""

from pathlib import Path

from tests.cli.chat.conftest import Chat
from tests.cli.chat.test_session_commands import take, write
from tests.cli.conftest import Model
from tests.cli.terminal import Terminal

SHIFT_TAB = "\x1b[Z"


def switch(terminal: Terminal, mode: str) -> None:
    """Press Shift-Tab, and see that it counts for what is typed right after it."""
    terminal.type(f"{SHIFT_TAB}/status\r")
    assert mode in terminal.until("settings  coding enabled")
    terminal.until("❯ ")


def test_shift_tab_changes_the_approval_mode_and_the_next_edit_is_not_asked_about(
    chat: Chat, model: Model, project: Path
) -> None:
    server = model([write("new.txt", "x\n")], ["Written."], [write("other.txt", "y\n")], ["Not written."])
    terminal = chat("--coding", "--model", "m", model=server)
    switch(terminal, "accepts edits")
    assert "Allow?" not in take(terminal, "one")
    assert (project / "new.txt").read_text() == "x\n"
    switch(terminal, "plans only")
    take(terminal, "two")
    assert not (project / "other.txt").exists()
    switch(terminal, "asks for approval")


def test_what_was_allowed_for_good_is_listed_and_can_be_taken_back(chat: Chat, model: Model, project: Path) -> None:
    run = {"call": "Bash", "arguments": {"command": "rm -f gone.txt"}}
    server = model([run], ["Removed."], [run], ["Removed again."], [run], ["Asked again."])
    terminal = chat("--coding", "--model", "m", model=server)
    terminal.type("/permissions\r")
    terminal.until("Nothing is allowed for good")
    terminal.until("❯ ")
    terminal.type("one\r")
    terminal.until("Allow?")
    terminal.type("A")
    terminal.until("for the rest of the session?")
    terminal.type("A")
    terminal.until("Removed.")
    terminal.until("❯ ")
    terminal.type("/permissions\r")
    terminal.until("rm -f gone.txt")
    terminal.until("❯ ")
    assert "Allow?" not in take(terminal, "two")
    terminal.type("/permissions remove 1\r")
    terminal.until("❯ ")
    terminal.type("/permissions\r")
    terminal.until("Nothing is allowed for good")
    terminal.until("❯ ")
    terminal.type("three\r")
    terminal.until("Allow?")
    terminal.type("d")
    terminal.until("Why not?")
    terminal.type("\r")
    terminal.until("Asked again.")
