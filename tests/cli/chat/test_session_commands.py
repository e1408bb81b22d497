"""Going back, forking, changes, export and status in the chat, at a real terminal."""

import re
from pathlib import Path
from typing import Any

from tests.cli.chat.conftest import Chat
from tests.cli.conftest import Model
from tests.cli.terminal import Terminal


def write(path: str, content: str) -> dict[str, Any]:
    """A step of a model that writes a file."""
    return {"call": "write_file", "arguments": {"path": path, "content": content}}


def take(terminal: Terminal, message: str) -> str:
    """Send a message and wait for the end of its turn."""
    terminal.type(f"{message}\r")
    shown = terminal.until("tokens in")
    terminal.until("❯ ")
    return shown


def test_going_back_takes_messages_and_files_away(chat: Chat, model: Model, project: Path) -> None:
    server = model(["First answer."], [write("new.txt", "x\n")], ["Written."], ["Third answer."])
    terminal = chat("--coding", "--model", "m", model=server)
    take(terminal, "one")
    terminal.type("two\r")
    terminal.until("Allow?")
    terminal.type("a")
    terminal.until("tokens in")
    terminal.until("❯ ")
    assert (project / "new.txt").exists()
    terminal.type("/rewind\r")
    assert re.search(r"1  one\s+2  two", terminal.until("goes back to before"))
    terminal.until("❯ ")
    terminal.type("/diff\r")
    terminal.until("created new.txt  +1 −0")
    terminal.until("+x")
    terminal.until("❯ ")
    terminal.type("/rewind 2 files\r")
    shown = terminal.until("keeps what was removed")
    assert "taken back  new.txt" in shown
    assert not (project / "new.txt").exists()
    terminal.until("❯ ")
    take(terminal, "three")
    said = [message["content"] for message in server.requests[-1]["messages"] if message["role"] != "system"]
    assert said == ["one", "First answer.", "three"]


def test_a_fork_goes_on_in_a_new_session_and_the_first_one_stays(chat: Chat, model: Model) -> None:
    server = model(["First answer."], ["Second answer."], ["Other answer."])
    terminal = chat("--model", "m", model=server)
    take(terminal, "one")
    take(terminal, "two")
    terminal.type("/fork 2\r")
    terminal.until("This is now a new session")
    terminal.until("❯ one")
    terminal.until("❯ ")
    take(terminal, "other")
    said = [message["content"] for message in server.requests[-1]["messages"] if message["role"] != "system"]
    assert said == ["one", "First answer.", "other"]
    terminal.type("/sessions\r")
    terminal.until("one (fork)  ← here")
    assert re.search(r"chat_safe  one\n", terminal.until("❯ "))


def test_status_export_and_wrong_numbers(chat: Chat, model: Model, project: Path) -> None:
    terminal = chat("--model", "m", model=model(["An answer."]))
    terminal.type("/rewind\r")
    terminal.until("has no message yet")
    terminal.until("❯ ")
    take(terminal, "About pears")
    terminal.type("/export\r")
    terminal.until("Saved to about-pears.md.")
    assert "An answer." in (project / "about-pears.md").read_text()
    terminal.until("❯ ")
    terminal.type("/export\r")
    terminal.until("File exists; name another file")
    terminal.until("❯ ")
    terminal.type("/rewind 7\r")
    terminal.until("1 to 1")
    terminal.until("❯ ")
    terminal.type("/status\r")
    shown = terminal.until("coding not enabled")
    assert "model     m" in shown
    assert str(project) in shown


def test_a_person_runs_a_command_in_the_agents_shell_and_the_model_reads_it(
    chat: Chat, model: Model, project: Path
) -> None:
    server = model(["I see."])
    terminal = chat("--coding", "--model", "m", model=server)
    terminal.type("!mkdir -p sub; cd sub; seq 1 30\r")
    terminal.until("✓ Bash mkdir -p sub; cd sub; seq 1 30")
    shown = terminal.until("│ 30")
    assert "… 25 earlier lines · /show 1" in shown
    assert "│ 25" not in shown
    terminal.until("❯ ")
    assert server.requests == []
    terminal.type("!pwd\r")
    terminal.until("/sub")
    terminal.until("❯ ")
    take(terminal, "what did I run?")
    said = server.requests[-1]["messages"]
    assert [message["content"] for message in said if message["role"] == "user"] == [
        "!mkdir -p sub; cd sub; seq 1 30",
        "!pwd",
        "what did I run?",
    ]
    assert any(message["role"] == "tool" and "30" in message["content"] for message in said)


def test_a_denial_says_what_the_person_can_do(chat: Chat, model: Model) -> None:
    terminal = chat("--model", "m", model=model())
    terminal.type("!ls\r")
    terminal.until("is not allowed in chat_safe mode")
    terminal.until("toolgate chat --coding")


def test_paths_are_completed_after_an_at_sign(chat: Chat, model: Model, project: Path) -> None:
    (project / "source").mkdir()
    (project / "source" / "prices.py").write_text("x")
    server = model(["Read."])
    terminal = chat("--coding", "--model", "m", model=server)
    terminal.type("explain @pric")
    terminal.until("source/prices.py")
    terminal.type("\t")
    terminal.type("\r\r")
    terminal.until("tokens in")
    assert server.requests[-1]["messages"][-1]["content"].strip() == "explain @source/prices.py"


def test_calls_of_earlier_turns_are_shown_when_a_session_is_continued(chat: Chat, model: Model) -> None:
    from tests.cli.conftest import bash

    terminal = chat("--coding", "--model", "m", model=model([bash("echo one")], ["Done."]))
    take(terminal, "go")
    terminal.type("\x04")
    terminal.until("continues this session")
    again = chat("--coding", "--continue", "--model", "m", model=model(["x"]))
    assert "✓ Bash echo one  exit 0" in again.text
    assert again.text.index("❯ go") < again.text.index("✓ Bash") < again.text.index("Done.")


def test_a_command_from_a_file_is_sent_as_its_text(chat: Chat, model: Model, project: Path) -> None:
    (project / ".toolgate/commands").mkdir(parents=True)
    (project / ".toolgate/commands/re.md").write_text("---\ndescription: Looks again\n---\nReview $1 again.")
    server = model(["Reviewed."])
    terminal = chat("--coding", "--model", "m", model=server)
    terminal.type("/help\r")
    terminal.until("Looks again (project)")
    terminal.until("❯ ")
    take(terminal, "/re a.py")  # also the beginning of /rewind, /rename and /resume
    assert server.requests[-1]["messages"][-1]["content"] == "Review a.py again."
