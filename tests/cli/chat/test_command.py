"""`toolgate chat` at a real terminal, with a scripted model on loopback and without any."""

import json
import os
import re
import signal
import time
from collections.abc import Sequence
from pathlib import Path

import pytest

from tests.cli.chat.conftest import Chat
from tests.cli.conftest import Model, bash
from tests.cli.terminal import Terminal
from tests.support.scripted_server import Step


def test_without_a_model_one_is_told_what_to_do_and_what_to_try(chat: Chat) -> None:
    terminal = chat("--coding")

    shown = terminal.text
    assert "No language model is configured" in shown
    assert "or a server of your own. Or leave and set" in " ".join(shown.split())
    assert "OPENAI_API_KEY" in shown
    assert "ANTHROPIC_API_KEY" in shown
    assert "read_file path=README.md" in shown
    terminal.type("read_file path=a.txt\r")
    shown = terminal.until("context ")
    assert "✓ read_file a.txt" in shown
    assert shown.count("1  one") == 1, "what the call returned is not said again"


def test_what_can_be_tried_in_chat_safe_works_there(chat: Chat) -> None:
    terminal = chat()
    assert "current_time timezone=Europe/Paris" in terminal.text
    assert "Bash ls" not in terminal.text
    terminal.type("current_time timezone=Europe/Paris\r")
    assert "✓ current_time Europe/Paris" in terminal.until("context ")
    terminal.until("❯ ")
    terminal.type("Bash ls\r")
    shown = terminal.until("context ")

    assert "⊘ Bash ls" in shown
    assert "Tool 'Bash' is not allowed in chat_safe mode" in shown
    assert '{"ok"' not in shown


def test_markdown_streams_and_every_line_is_printed_once(chat: Chat, model: Model) -> None:
    text = "# Title\n\nFirst **bold** paragraph.\n\n- one\n- two\n\n```python\nx = 1\n```\n\nLast words."
    pieces: list[Step] = [step for start in range(0, len(text), 5) for step in (text[start : start + 5], 0.02)]
    terminal = chat("--coding", "--model", "m", model=model(pieces))

    terminal.type("go\r")
    terminal.until("tokens in")

    shown = screen_of(terminal)
    begin = shown.index("Title")
    assert shown[begin : begin + 11] == [
        "Title",
        "",
        "First bold paragraph.",
        "",
        " • one",
        " • two",
        "",
        "  x = 1",
        "",
        "Last words.",
        "",
    ]
    assert shown.count("Title") == 1


def test_a_call_is_a_card_that_can_be_expanded(chat: Chat, model: Model) -> None:
    terminal = chat("--coding", "--model", "m", model=model(["I look.", bash("seq 1 30")], ["Done."]))

    terminal.type("go\r")
    shown = terminal.until("tokens in")
    assert re.search(r"✓ Bash seq 1 30  exit 0 · [\d.]+ m?s · #1", shown)
    assert "… 25 earlier lines · /show 1" in shown
    assert "│ 30" in shown.partition("✓")[2]
    assert "│ 25" not in shown.partition("✓")[2]
    terminal.until("❯ ")
    terminal.type("/show 1\r")
    terminal.until("  29\n  30\n")
    terminal.until("❯ ")
    terminal.type("\x0f")
    terminal.until("  29\n  30\n")


def test_output_is_live(chat: Chat, model: Model) -> None:
    terminal = chat("--coding", "--model", "m", model=model([bash("echo begun; sleep 60")]))

    terminal.type("go\r")

    terminal.until("│ begun")
    terminal.until("s · Ctrl-C cancels")


@pytest.mark.parametrize("how", ["key", "signal"])
def test_ctrl_c_during_a_command_ends_the_turn_and_not_the_program(chat: Chat, model: Model, how: str) -> None:
    terminal = chat("--coding", "--model", "m", model=model([bash("echo begun; sleep 60")], ["Still here."]))
    terminal.type("go\r")
    terminal.until("│ begun")

    began = time.monotonic()
    if how == "key":
        terminal.type("\x03")
    else:
        terminal.process.send_signal(signal.SIGINT)

    terminal.until("◌ Bash echo begun; sleep 60  cancelled")
    terminal.until("│ begun")
    terminal.until("◌ cancelled · what was done so far is kept")
    assert time.monotonic() - began < 20
    terminal.until("❯ ")
    terminal.type("and now?\r")
    terminal.until("Still here.")


def test_ctrl_c_while_the_model_writes_keeps_what_it_wrote(chat: Chat, model: Model) -> None:
    server = model(["Once upon a time", 0.1, " there was", *([0.2, " ."] * 200)], ["Again."])
    terminal = chat("--model", "m", model=server)
    terminal.type("go\r")
    terminal.until("there was")

    terminal.type("\x03")

    terminal.until("◌ cancelled")
    assert server.left.wait(60)
    terminal.until("❯ ")
    terminal.type("once more\r")
    terminal.until("Again.")
    said = server.requests[-1]["messages"]
    assert [message["role"] for message in said] == ["system", "user", "assistant", "user"]
    assert said[2]["content"].startswith("Once upon a time there was")


def test_ctrl_c_during_a_question_withdraws_it(chat: Chat, model: Model, project: Path) -> None:
    terminal = chat("--coding", "--model", "m", model=model([bash("rm a.txt")], ["Fine."]))
    terminal.type("go\r")
    terminal.until("Allow? ")

    terminal.type("\x03")

    terminal.until("◌ cancelled")
    assert (project / "a.txt").exists()
    terminal.until("❯ ")
    terminal.type("well?\r")
    terminal.until("Fine.")


def test_a_question_shows_the_exact_command_and_a_key_answers_it(chat: Chat, model: Model, project: Path) -> None:
    terminal = chat("--coding", "--model", "m", model=model([bash("rm a.txt")], ["Gone."]))
    terminal.type("go\r")
    asked = terminal.until("Allow? ")
    assert "? Bash asks: Run: rm a.txt\n  rm a.txt\n" in asked
    assert "because: 'rm': it removes files" in asked

    terminal.press("a")

    terminal.until("✓ allowed")
    terminal.until("Gone.")
    assert not (project / "a.txt").exists()


def test_a_denial_has_a_reason_that_reaches_the_model(chat: Chat, model: Model, project: Path) -> None:
    server = model([bash("rm a.txt")], ["As you wish."])
    terminal = chat("--coding", "--model", "m", model=server)
    terminal.type("go\r")
    terminal.until("Allow? ")

    terminal.press("d")
    terminal.until("Why not? ")
    terminal.type("it is preciouss\x7f\r")

    terminal.until("⊘ denied: it is precious")
    terminal.until("As you wish.")
    assert (project / "a.txt").exists()
    assert "it is precious." in server.requests[-1]["messages"][-1]["content"]


def test_someone_who_is_writing_has_not_answered(chat: Chat, model: Model, project: Path) -> None:
    server = model([bash("rm a.txt")], ["Kept."], ["Hello."])
    terminal = chat("--coding", "--model", "m", model=server)
    terminal.type("go\r")
    terminal.until("Allow? ")

    terminal.type("and also say hello")
    time.sleep(1.5)

    assert (project / "a.txt").exists()
    terminal.press("d")
    terminal.until("Why not? ")
    terminal.type("\r")
    terminal.until("⊘ denied")
    terminal.until("tokens in")
    terminal.until("❯ and also say hello")
    terminal.type("\r")
    terminal.until("Hello.")
    assert server.requests[-1]["messages"][-1]["content"] == "and also say hello"


def slow(*more: Sequence[Step]) -> list[Sequence[Step]]:
    """A turn that goes on until the file `end` is there; then these."""
    return [[bash("echo begun; until [ -e end ]; do sleep 0.05; done; echo over")], ["The end."], *more]


def test_what_is_sent_while_a_turn_runs_is_queued_and_sent_when_it_ends(
    chat: Chat, model: Model, project: Path
) -> None:
    server = model(*slow(["Two."], ["Three."]))
    terminal = chat("--coding", "--model", "m", model=server)
    terminal.type("go\r")
    terminal.until("│ begun")

    terminal.type("second\r")
    terminal.until("queued  second")
    terminal.type("third\r")
    terminal.until("queued  third")
    terminal.type("a dra")
    terminal.until("❯ a dra▏")
    assert len(server.requests) == 1
    (project / "end").touch()

    terminal.until("The end.")
    terminal.until("❯ second")
    terminal.until("Two.")
    terminal.until("❯ third")
    terminal.until("Three.")
    terminal.until("tokens in")
    terminal.until("❯ a dra\n")
    said = [message["content"] for message in server.requests[-1]["messages"] if message["role"] == "user"]
    assert said == ["go", "second", "third"]
    assert screen_of(terminal).count("❯ second") == 1
    terminal.type("\x03")
    terminal.until("❯ \n")
    terminal.type("\x1b[A")
    terminal.until("third")


def test_esc_takes_back_what_is_queued(chat: Chat, model: Model, project: Path) -> None:
    server = model(*slow(["Two."]))
    terminal = chat("--coding", "--model", "m", model=server)
    terminal.type("go\r")
    terminal.until("│ begun")
    terminal.type("secnd\r")
    terminal.until("queued  secnd  Esc takes it back")

    terminal.type("\x1b")
    terminal.until("❯ secnd▏")
    terminal.type("\x7f\x7fond\r")
    terminal.until("queued  second")
    (project / "end").touch()

    terminal.until("Two.")
    assert server.requests[-1]["messages"][-1]["content"] == "second"


@pytest.mark.parametrize("how", ["cancelled", "failed"])
def test_a_turn_that_does_not_end_well_sends_nothing_that_is_queued(
    chat: Chat, model: Model, project: Path, how: str
) -> None:
    turns = slow(["Sent."])[:1] + ([[{"status": 401}]] if how == "failed" else []) + [["Sent."]]
    server = model(*turns)
    terminal = chat("--coding", "--model", "m", model=server)
    terminal.type("go\r")
    terminal.until("│ begun")
    terminal.type("second\r")
    terminal.until("queued  second")

    if how == "failed":
        (project / "end").touch()
        terminal.until("✗ MODEL_AUTH")
    else:
        terminal.type("\x03")
        terminal.until("◌ cancelled")

    terminal.until("❯ second")
    before = len(server.requests)
    terminal.type(" thoughts\r")
    terminal.until("Sent.")
    assert len(server.requests) == before + 1
    assert server.requests[-1]["messages"][-1]["content"] == "second thoughts"


def test_lines_that_are_pasted_while_a_turn_runs_are_one_message(chat: Chat, model: Model, project: Path) -> None:
    server = model(*slow(["Two."]))
    terminal = chat("--coding", "--model", "m", model=server)
    terminal.type("go\r")
    terminal.until("│ begun")
    assert terminal.raw.rfind("\x1b[?2004h") > terminal.raw.rfind("\x1b[?2004l")

    terminal.type("\x1b[200~one\rtwo\x1b[201~\r")
    terminal.until("queued  one ⏎ two")
    (project / "end").touch()

    terminal.until("Two.")
    assert server.requests[-1]["messages"][-1]["content"] == "one\ntwo"


def test_always_shows_its_rule_and_lasts_for_the_session(chat: Chat, model: Model, project: Path) -> None:
    turns = [[bash("rm -f a.txt")], ["Gone."], [bash("rm -f a.txt")], ["Gone again."]]
    terminal = chat("--coding", "--model", "m", model=model(*turns))
    terminal.type("go\r")
    terminal.until("Allow? ")
    terminal.press("A")
    assert "session: allow exactly Bash" in terminal.until("for the rest of the session?")
    terminal.press("A")
    terminal.until("Gone.")
    terminal.until("❯ ")

    terminal.type("again\r")

    assert "Allow?" not in terminal.until("Gone again.")


def test_a_change_is_shown_as_a_diff_once(chat: Chat, model: Model, project: Path) -> None:
    edit = {"call": "edit_file", "arguments": {"path": "a.txt", "old_string": "one", "new_string": "eins"}}
    read = {"call": "read_file", "arguments": {"path": "a.txt"}}
    terminal = chat("--coding", "--model", "m", model=model([read], [edit], ["Changed."]))
    terminal.type("go\r")
    asked = terminal.until("Allow? ")
    assert "  -one\n  +eins\n" in asked
    assert "\x1b[31m-one" in terminal.raw
    assert "\x1b[32m+eins" in terminal.raw

    terminal.press("a")

    after = terminal.until("Changed.")
    assert "+eins" not in after.partition("✓ allowed")[2]
    terminal.until("❯ ")
    terminal.type("/undo\r")
    terminal.until("restored  a.txt")
    assert (project / "a.txt").read_text() == "one\ntwo\n"


def test_nothing_that_a_model_or_a_tool_says_controls_the_terminal(chat: Chat, model: Model) -> None:
    evil = "\x1b]0;title\x07\x1b[2J\x1b[31mred\x1b[0m \u202ereversed\u202c ⚠\ufe0f \x9b31m"
    turns = [[evil, bash("printf '\\033]0;owned\\007\\033[2Jclean \\u202e'")], ["ok"]]
    terminal = chat("--coding", "--model", "m", model=model(*turns))

    terminal.type("go\r")
    shown = terminal.until("tokens in")

    assert "red \\u202ereversed\\u202c ⚠ \\x9b31m" in shown
    assert "│ clean \\u202e" in shown
    for forbidden in ("\x1b]0;", "\x07", "\x9b", "\u202e"):
        assert forbidden not in terminal.raw
    draw_markdown = terminal.raw.partition("go")[2].partition("tokens in")[0]
    assert "\x1b[2J" not in draw_markdown


def test_ctrl_c_at_the_prompt_forgets_the_line_and_twice_leaves(chat: Chat) -> None:
    terminal = chat()
    terminal.type("half a tho")
    terminal.until("half a tho")
    terminal.type("\x03")
    terminal.until("❯ \n")  # with nothing after it: a new prompt
    terminal.type("\x03")
    terminal.until("Press Ctrl-C again, or Ctrl-D, to leave.")
    terminal.until("❯ \n")
    terminal.type("\x03")

    assert terminal.ended() == 0


def test_ctrl_d_leaves_and_says_how_to_go_on(chat: Chat, model: Model, project: Path) -> None:
    server = model(["Hello."], ["You said: remember me."])
    terminal = chat("--model", "m", model=server)
    terminal.type("remember me\r")
    terminal.until("tokens in")
    terminal.until("❯ ")
    terminal.type("\x04")
    session = terminal.until("continues this session").split()[-4]
    assert terminal.ended() == 0

    again = chat("--model", "m", "--resume", session[:13], model=server)
    assert "❯ remember me" in again.text
    assert "Hello." in again.text
    again.type("what did I say?\r")
    again.until("You said")
    assert [message["content"] for message in server.requests[-1]["messages"][1:]] == [
        "remember me",
        "Hello.",
        "what did I say?",
    ]


def test_a_coding_session_that_is_gone_on_with_without_coding_says_so(chat: Chat, model: Model) -> None:
    server = model(["One."], ["Two."])
    first = chat("--coding", "--model", "m", model=server)
    first.type("hello\r")
    first.until("tokens in")
    first.until("❯ ")
    first.type("\x04")
    assert "toolgate chat --coding --resume " in first.until("continues this session")
    first.ended()

    second = chat("--model", "m", "--continue", model=server)

    assert "It was started in coding; without --coding it continues in chat_safe." in second.text


def test_messages_of_earlier_runs_are_in_the_history(chat: Chat, model: Model) -> None:
    server = model(["One."], ["Two."])
    first = chat("--model", "m", model=server)
    first.type("a message of yore\r")
    first.until("tokens in")
    first.until("❯ ")
    first.type("\x04")
    first.ended()

    second = chat("--model", "m", model=server)
    second.type("\x1b[A")
    second.until("a message of yore")
    second.type("\r")
    second.until("Two.")

    assert server.requests[-1]["messages"][-1]["content"] == "a message of yore"


@pytest.mark.parametrize("keys", ["one\x1b\rtwo", "\x1b[200~one\ntwo\x1b[201~"], ids=["alt-enter", "paste"])
def test_a_message_may_have_several_lines(chat: Chat, model: Model, keys: str) -> None:
    server = model(["Two lines."])
    terminal = chat("--model", "m", model=server)

    terminal.type(keys)
    time.sleep(0.3)
    assert not server.requests
    terminal.type("\r")
    terminal.until("Two lines.")

    assert server.requests[-1]["messages"][-1]["content"] == "one\ntwo"


def test_slash_commands(chat: Chat, model: Model) -> None:
    terminal = chat("--coding", "--model", "m", model=model(["Hi."], ["Ho."]))
    terminal.type("/help\r")
    shown = terminal.until("Ctrl-D leaves")
    for name in ("/help", "/new", "/sessions", "/resume", "/rename", "/show", "/tools", "/mode", "/undo", "/quit"):
        assert f"  {name}" in shown
    terminal.type("/tools\r")
    assert re.search(r"write_file +Create .*\(asks\)", terminal.until("todo"))
    terminal.type("/mode\r")
    terminal.until("never changes")
    terminal.type("/nope\r")
    terminal.until("There is no /nope.")
    terminal.type("/resume 99\r")
    terminal.until("there is no session '99'; /sessions shows them")
    terminal.type("/show 9\r")
    terminal.until("no call was made yet")
    terminal.type("first words\r")
    terminal.until("tokens in")
    terminal.until("❯ ")
    terminal.type("/new chat_safe\r")
    terminal.until("starts a new session in chat_safe")
    terminal.type("/sessions\r")
    assert "first words" in terminal.until("first words")
    terminal.type("/rename too early\r")
    terminal.until("the session starts with the first message")
    terminal.type("/resume 1\r")
    assert "coding · 1 turns" in terminal.until("Hi.")
    terminal.type("/rename last words\r")
    terminal.until("This session is now called last words.")
    terminal.type("/sessions\r")
    terminal.until("last words  ← here")
    terminal.type("/quit\r")
    assert terminal.ended() == 0


def test_a_path_is_a_message_and_no_command(chat: Chat, model: Model) -> None:
    server = model(["A path."])
    terminal = chat("--model", "m", model=server)

    terminal.type("/etc/passwd is a file\r")
    terminal.until("A path.")

    assert server.requests[-1]["messages"][-1]["content"] == "/etc/passwd is a file"


def test_a_failure_of_the_model_is_said_and_the_chat_goes_on(chat: Chat, model: Model) -> None:
    terminal = chat("--model", "m", model=model([{"status": 401}], ["Better now."]))

    terminal.type("go\r")
    terminal.until("✗ MODEL_AUTH")
    terminal.until("OPENAI_API_KEY")
    terminal.until("❯ ")

    terminal.type("go\r")
    terminal.until("Better now.")


@pytest.mark.parametrize("columns", [30, 60])
def test_narrow_terminals_and_wide_characters(chat: Chat, model: Model, columns: int) -> None:
    text = "你好，世界！" * 12 + "\n\n| 名 | 值 |\n|---|---|\n| 甲 | 乙 |\n"
    pieces: list[Step] = [step for start in range(0, len(text), 3) for step in (text[start : start + 3], 0.01)]
    terminal = chat("--coding", "--model", "m", model=model(pieces, ["ok"]), columns=columns)

    terminal.type("go\r")
    terminal.until("tokens in" if columns > 40 else "tokens")

    shown = screen_of(terminal)
    assert "".join(shown).count("你好，世界！") + "".join(shown).count("你好") >= 12
    assert sum(line.count("甲") for line in shown) == 1


def test_a_terminal_that_changes_its_size_is_drawn_anew(chat: Chat, model: Model) -> None:
    words = " ".join(f"word{number}" for number in range(60))
    terminal = chat("--coding", "--model", "m", model=model([words, bash("sleep 2")], ["The end."]))
    terminal.type("go\r")
    terminal.until("Bash sleep 2")

    terminal.resize(50, 30)
    terminal.process.send_signal(signal.SIGWINCH)
    terminal.until("The end.")

    terminal.until("❯ ")
    assert terminal.process.poll() is None


def test_it_leaves_the_terminal_as_it_found_it(chat: Chat, model: Model) -> None:
    import termios

    terminal = chat("--coding", "--model", "m", model=model(["Hello."]))
    terminal.type("go\r")
    terminal.until("tokens in")
    terminal.until("❯ ")
    terminal.type("/quit\r")
    terminal.ended()

    flags = termios.tcgetattr(terminal.fd)[3]
    assert flags & termios.ECHO
    assert flags & termios.ICANON
    assert terminal.raw.rfind("\x1b[?25h") > terminal.raw.rfind("\x1b[?25l")


@pytest.mark.parametrize("when", ["command", "prompt"])
def test_sigterm_ends_it_in_good_order(chat: Chat, model: Model, when: str) -> None:
    import termios

    terminal = chat("--coding", "--model", "m", model=model([bash("echo begun; sleep 60")]))
    if when == "command":
        terminal.type("go\r")
        terminal.until("│ begun")

    terminal.process.send_signal(signal.SIGTERM)

    assert terminal.ended() == 128 + signal.SIGTERM
    assert termios.tcgetattr(terminal.fd)[3] & termios.ECHO
    assert terminal.raw.rfind("\x1b[?25h") > terminal.raw.rfind("\x1b[?25l")


def test_a_session_that_was_interrupted_says_so(chat: Chat, model: Model) -> None:
    server = model([bash("echo begun; sleep 60")], ["Recovered."])
    first = chat("--coding", "--model", "m", model=server)
    first.type("go\r")
    first.until("│ begun")
    os.killpg(first.process.pid, signal.SIGKILL)
    first.process.wait()

    again = chat("--coding", "--model", "m", "--continue", model=server)
    again.type("go on\r")
    again.until("Recovered.")

    assert "interrupted" in json.dumps(server.requests[-1]["messages"])


def screen_of(terminal: Terminal) -> list[str]:
    """What a terminal shows at the end, everything that scrolled away included."""
    rows, row, column = [""], 0, 0
    for token in re.findall(r"\x1b\[[0-?]*[ -/]*[@-~]|\x1b.|[^\x1b]", terminal.raw, re.DOTALL):
        if token == "\n":
            row += 1
            if row == len(rows):
                rows.append("")
        elif token == "\r":
            column = 0
        elif token.startswith("\x1b["):
            row, column, rows = _controlled(token, rows, row, column)
        elif not token.startswith("\x1b"):
            rows[row] = rows[row][:column].ljust(column) + token + rows[row][column + 1 :]
            column += 1
    return [line.rstrip() for line in rows]


def _controlled(token: str, rows: list[str], row: int, column: int) -> tuple[int, int, list[str]]:
    count = int(re.sub(r"\D", "", token) or 1)
    if token.endswith("A"):
        row = max(0, row - count)
    elif token.endswith("B"):
        row += count
        rows = rows + [""] * max(0, row + 1 - len(rows))
    elif token.endswith("C"):
        column += count
    elif token.endswith("D"):
        column = max(0, column - count)
    elif token.endswith("J"):
        rows = [*rows[:row], rows[row][:column]]
    elif token.endswith("K"):
        rows[row] = rows[row][:column]
    return row, column, rows
