"""`toolgate chat --print` and piped chats: what scripts see."""

import json
import os
import signal
import subprocess
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from tests.cli.conftest import Model, bash
from tests.cli.terminal import PROGRAM
from tests.support.pictures import png
from tests.support.scripted_server import ScriptedServer

Done = subprocess.CompletedProcess[str]
Run = Callable[..., Done]


@pytest.fixture
def environment(tmp_path: Path) -> dict[str, str]:
    return {**os.environ, "XDG_DATA_HOME": str(tmp_path / "data")}


@pytest.fixture
def chat(project: Path, environment: dict[str, str]) -> Run:
    """Run a chat to its end."""

    def run(*words: str, model: ScriptedServer | None = None, text: str = "", **variables: str) -> Done:
        more = {**(model.environment if model else {}), **variables}
        return subprocess.run(
            [PROGRAM, "chat", *words],
            cwd=project,
            input=text,
            env={**environment, **more},
            capture_output=True,
            text=True,
            timeout=50,
            check=False,
        )

    return run


def events(done: Done) -> list[dict[str, Any]]:
    return [json.loads(line) for line in done.stdout.splitlines()]


def test_the_answer_and_nothing_else(chat: Run, model: Model) -> None:
    server = model(["Let me look. ", bash("ls")], ["There is ", "**a.txt**."])

    done = chat("--coding", "--model", "m", "--print", "what is here?", model=server)

    assert (done.returncode, done.stdout, done.stderr) == (0, "There is **a.txt**.\n", "")
    assert server.requests[0]["messages"][-1] == {"role": "user", "content": "what is here?"}


def test_an_answer_without_a_call_loads_no_policy(chat: Run, model: Model) -> None:
    done = chat("--coding", "--model", "m", "--print", "hi", model=model(["Hello."]), PYTHONPROFILEIMPORTTIME="1")

    loaded = {line.rpartition("|")[2].strip() for line in done.stderr.splitlines()}
    assert "toolgate.agent.prompt" in loaded
    assert loaded.isdisjoint({"toolgate.runtime.policy.decide", "toolgate.workspace.file_guard"})


def test_pictures_of_the_message_are_sent_but_not_those_of_what_is_piped(
    chat: Run, model: Model, project: Path
) -> None:
    (project / "shot.png").write_bytes(png(30, 20))
    (project / "odd.png").write_bytes(b"odd")
    server = model(["One."], ["None."])
    one = chat("--model", "gpt-4o", "--print", "what is in shot.png and odd.png", model=server)
    assert (one.stdout, one.stderr.count("Only the path of odd.png is sent: ")) == ("One.\n", 1)
    assert chat("--model", "gpt-4o", "--print", "explain", model=server, text="shot.png").stdout == "None.\n"
    said = [request["messages"][-1]["content"] for request in server.requests]
    assert [part["type"] for part in said[0]] == ["text", "image_url"]
    assert said[1] == "explain\n\nshot.png"


@pytest.mark.parametrize("words", [["--print"], ["--print", "-"]])
def test_a_message_may_come_from_stdin(chat: Run, model: Model, words: list[str]) -> None:
    server = model(["Read."])

    chat("--model", "m", *words, model=server, text="two\nlines\n")

    assert server.requests[0]["messages"][-1]["content"] == "two\nlines\n"


def test_events_are_one_a_line(chat: Run, model: Model) -> None:
    server = model(["I look. ", bash("echo one; echo two")], ["Done."])

    done = chat("--coding", "--model", "m", "--print", "go", "--json", model=server)
    seen = events(done)

    assert done.returncode == 0
    assert [event["type"] for event in seen if event["type"] != "tool_output"] == [
        "session",
        "text",
        "tool_call",
        "tool_result",
        "text",
        "turn_done",
    ]
    session, call = seen[0], seen[2]
    assert (session["mode"], session["model"]) == ("coding", "m")
    assert {key: call[key] for key in ("tool_name", "arguments")} == {
        "tool_name": "Bash",
        "arguments": {"command": "echo one; echo two"},
    }
    result = next(event for event in seen if event["type"] == "tool_result")
    assert (result["call_id"], result["is_error"], result["output"]) == (call["call_id"], False, "one\ntwo\n")
    assert result["response"]["data"]["exit_code"] == 0
    assert "".join(event["text"] for event in seen if event["type"] == "tool_output") == "one\ntwo\n"
    assert seen[-1]["usage"] == {"input_tokens": 2400, "output_tokens": 68}


def test_a_denial_by_the_mode_is_an_event_and_the_turn_goes_on(chat: Run, model: Model) -> None:
    done = chat("--model", "m", "--print", "go", "--json", model=model([bash("ls")], ["Then not."]))
    seen = events(done)

    assert [event["type"] for event in seen] == ["session", "tool_call", "tool_denied", "text", "turn_done"]
    assert set(seen[2]) == {"type", "tool_name", "call_id", "mode", "error_code", "message", "next_action"}


def test_what_asks_is_denied_with_the_rule_that_would_allow_it(chat: Run, model: Model, project: Path) -> None:
    server = model([bash("rm a.txt")], ["It stays."])

    done = chat("--coding", "--model", "m", "--print", "go", model=server)

    assert (done.returncode, done.stdout, (project / "a.txt").exists()) == (0, "It stays.\n", True)
    assert "denied because nobody can be asked: Run: rm a.txt" in done.stderr
    assert (
        'toolgate/policy.toml:\n[[rule]]\ntool = "Bash"\nwords = ["rm", "a.txt"]\ndecision = "allow"\n' in done.stderr
    )
    assert done.stderr.count("\n") == 5


@pytest.mark.parametrize("command", ["rm a.txt", "cd . && rm ./a.txt", "rm -f 'a.txt' | cat; mv b.txt c.txt"])
def test_the_rules_that_are_named_allow_it(
    chat: Run, model: Model, project: Path, tmp_path: Path, command: str
) -> None:
    (project / "b.txt").write_text("b")
    (project / "c.txt").write_text("c")
    words = ("--coding", "--model", "m", "--print", "go")
    denied = chat(*words, model=model([bash(command)], ["No."]))
    assert (project / "a.txt").exists()
    policy = tmp_path / "config" / "toolgate" / "policy.toml"
    policy.parent.mkdir(parents=True)
    policy.write_text(denied.stderr.partition("\n")[2])

    done = chat(*words, model=model([bash(command)], ["Gone."]))

    assert (done.stdout, done.stderr, (project / "a.txt").exists()) == ("Gone.\n", "", False)


def test_what_no_rule_can_allow_names_none(chat: Run, model: Model) -> None:
    done = chat("--coding", "--model", "m", "--print", "go", model=model([bash("X=1 rm a.txt")], ["No."]))

    assert "No policy rule can allow it: use toolgate chat" in done.stderr
    assert "[[rule]]" not in done.stderr


def test_yes_allows_what_stays_inside(chat: Run, model: Model, project: Path) -> None:
    write = {"call": "write_file", "arguments": {"path": "new.txt", "content": "x\n"}}
    turns = [[write, bash("rm a.txt")], [bash("touch /tmp/outside", access="full")], ["Done."]]

    done = chat("--coding", "--model", "m", "--yes", "--print", "go", "--json", model=model(*turns))
    answers = [event["allowed"] for event in events(done) if event["type"] == "approval_resolved"]

    assert answers == [True, True, False]
    assert (project / "new.txt").exists()
    assert not (project / "a.txt").exists()
    assert "Full access always needs approval" in done.stderr


WRITE = {"call": "write_file", "arguments": {"path": "new.txt", "content": "x\n"}}


@pytest.mark.parametrize("approval_mode", [None, "ask", "accept_edits", "plan"])
def test_only_accepted_edits_are_written_without_asking(
    chat: Run, model: Model, project: Path, approval_mode: str | None
) -> None:
    words = [] if approval_mode is None else ["--approval-mode", approval_mode]
    server = model([WRITE], [bash("rm a.txt")], ["Done."])

    done = chat("--coding", "--model", "m", "--print", "go", "--json", *words, model=server)
    seen = events(done)

    assert (done.returncode, seen[0]["approval_mode"]) == (0, approval_mode or "ask")
    assert (project / "new.txt").exists() is (approval_mode == "accept_edits")
    assert (project / "a.txt").read_text() == "one\ntwo\n", "a command is never an edit"
    asked = [event["tool_name"] for event in seen if event["type"] == "approval_request"]
    assert asked == {"accept_edits": ["Bash"], "plan": []}.get(approval_mode or "ask", ["write_file", "Bash"])


def test_plan_offers_nothing_that_changes_and_reading_works(chat: Run, model: Model, project: Path) -> None:
    touch = bash("touch made.txt", access="read")
    server = model([touch, bash("cat a.txt", access="read")], ["The plan."])

    done = chat("--coding", "--model", "m", "--print", "go", "--approval-mode", "plan", model=server)

    offered = {tool["function"]["name"] for tool in server.requests[0]["tools"]}
    assert not offered & {"write_file", "edit_file", "apply_patch", "todo", "memory_append"}
    assert {"read_file", "Bash", "propose_plan"} <= offered
    refused, read = [said["content"] for said in server.requests[1]["messages"] if said["role"] == "tool"]
    assert "one\ntwo" in read
    assert "one\ntwo" not in refused
    assert (done.stdout, sorted(path.name for path in project.iterdir())) == ("The plan.\n", ["a.txt"])


def test_the_approval_mode_stays_with_the_session_until_another_is_named(
    chat: Run, model: Model, project: Path
) -> None:
    server = model(["One."], [WRITE], ["Two."], [WRITE], ["Three."])
    words = ("--coding", "--model", "m", "--json", "--print", "go")
    chat(*words, "--approval-mode", "plan", model=server)
    assert events(chat(*words, "--continue", model=server))[0]["approval_mode"] == "plan"
    assert not (project / "new.txt").exists()
    again = chat(*words, "--continue", "--approval-mode", "accept_edits", model=server)
    assert events(again)[0]["approval_mode"] == "accept_edits"
    assert (project / "new.txt").exists()


def test_an_approval_mode_that_does_not_exist_is_refused(chat: Run) -> None:
    done = chat("--print", "x", "--approval-mode", "yolo")

    assert (done.returncode, done.stdout) == (2, "")
    assert "invalid choice: 'yolo'" in done.stderr


def test_yes_without_a_sandbox_is_refused(chat: Run) -> None:
    done = chat("--coding", "--yes", "--print", "Bash ls", TOOLGATE_SHELL_SANDBOX="off")

    assert (done.returncode, done.stdout) == (2, "")
    assert "--yes needs a sandbox that confines commands" in done.stderr


@pytest.mark.parametrize(
    ("words", "said"),
    [
        (["--json"], "--json goes with --print"),
        (["--yes"], "--yes goes with --print"),
        (["--print", "  "], 'the message is empty: toolgate chat --print "MESSAGE"'),
        (["--print", "x", "--resume"], "--resume needs an id"),
        (["--print", "x", "--resume", "nope"], "there is no session 'nope'"),
        (["--print", "x", "--continue"], "this project has no session"),
        (["--print", "x", "--root", "missing"], "missing"),
        (["--print", "x", "--model", "gpt-5.5"], "OPENAI_API_KEY"),
    ],
)
def test_what_is_not_understood_is_one_line(chat: Run, words: list[str], said: str) -> None:
    done = chat(*words)

    assert (done.returncode, done.stdout, done.stderr.count("\n")) == (2, "", 1)
    assert said in done.stderr


def test_a_turn_that_fails_is_exit_code_1(chat: Run, model: Model) -> None:
    done = chat("--model", "m", "--print", "go", model=model([{"status": 401}]))
    assert (done.returncode, done.stdout) == (1, "")
    assert done.stderr.startswith("toolgate chat: MODEL_AUTH: ")

    done = chat("--model", "m", "--print", "go", "--json", model=model([{"status": 401}]))
    assert done.returncode == 1
    assert events(done)[-1]["type"] == "turn_failed"


def test_a_conversation_goes_on_by_id_and_as_the_latest(chat: Run, model: Model) -> None:
    server = model(["One."], ["Two."], ["Three."])
    first = events(chat("--model", "m", "--print", "first", "--json", model=server))[0]["session_id"]

    chat("--model", "m", "--print", "second", "--resume", first[:13], model=server)
    chat("--model", "m", "--print", "third", "--continue", model=server)

    said = [message["content"] for message in server.requests[-1]["messages"][1:]]
    assert said == ["first", "One.", "second", "Two.", "third"]


def test_a_coding_session_without_coding_is_chat_safe(chat: Run, model: Model) -> None:
    server = model(["One."], [bash("ls")], ["Denied."])
    chat("--coding", "--model", "m", "--print", "first", model=server)

    done = chat("--model", "m", "--print", "second", "--continue", "--json", model=server)

    assert [event["type"] for event in events(done)][1:3] == ["tool_call", "tool_denied"]


def test_the_offline_model_runs_what_is_typed(chat: Run) -> None:
    assert chat("--coding", "--print", "Bash cat a.txt").stdout == "one\ntwo\n"
    assert "No language model is configured" in chat("--print", "hello").stdout


def test_ctrl_c_ends_it_in_good_order(project: Path, environment: dict[str, str], model: Model, tmp_path: Path) -> None:
    server = model([bash("echo begun; sleep 60")])
    process = subprocess.Popen(
        [PROGRAM, "chat", "--coding", "--model", "m", "--print", "go", "--json"],
        cwd=project,
        env={**environment, **server.environment},
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
    )
    assert process.stdout is not None
    for line in process.stdout:
        if json.loads(line)["type"] == "tool_output":
            break
    process.send_signal(signal.SIGINT)
    _, errors = process.communicate(timeout=30)

    assert (process.returncode, errors) == (130, "toolgate chat: interrupted\n")
    shown = subprocess.run(
        [PROGRAM, "sessions", "list", "--json"], env=environment, capture_output=True, text=True, check=True
    )
    assert [session["state"] for session in json.loads(shown.stdout)] == ["cancelled"]


def test_no_answer_holds_what_controls_a_terminal_only_if_it_goes_to_one(chat: Run, model: Model) -> None:
    assert chat("--model", "m", "--print", "go", model=model(["\x1b[31mred"])).stdout == "\x1b[31mred\n"


def test_lines_of_a_pipe_are_messages(chat: Run, model: Model) -> None:
    server = model(["Hel", "lo."], [bash("echo hi; false")], ["Bye."])

    done = chat("--coding", "--model", "m", model=server, text="one\n\n/mode\ntwo\n")

    assert (done.returncode, done.stdout) == (0, "Hello.\nBye.\n")
    assert "coding: files and commands" in done.stderr
    assert "[Bash echo hi; false]" in done.stderr
    assert "\x1b" not in done.stdout + done.stderr


def test_a_pipe_without_a_model_says_so(chat: Run) -> None:
    done = chat(text="hi\n")

    assert done.returncode == 0
    assert "No language model is configured" in done.stdout


def test_a_pipe_whose_last_turn_failed_is_exit_code_1(chat: Run, model: Model) -> None:
    done = chat("--model", "m", model=model([{"status": 401}]), text="hi\n")

    assert done.returncode == 1
    assert "MODEL_AUTH" in done.stderr


def test_nobody_is_asked_through_a_pipe(chat: Run, model: Model, project: Path) -> None:
    done = chat("--coding", "--model", "m", model=model([bash("rm a.txt")], ["No."]), text="go\n")

    assert (project / "a.txt").exists()
    assert 'decision = "allow"' in done.stderr


def test_a_killed_turn_is_visible_and_its_call_uncertain(
    project: Path, environment: dict[str, str], model: Model
) -> None:
    server = model([bash("echo begun; sleep 60")])
    process = subprocess.Popen(
        [PROGRAM, "chat", "--coding", "--model", "m", "--print", "go", "--json"],
        cwd=project,
        env={**environment, **server.environment},
        stdout=subprocess.PIPE,
        text=True,
    )
    assert process.stdout is not None
    session = json.loads(process.stdout.readline())["session_id"]
    for line in process.stdout:
        if json.loads(line)["type"] == "tool_output":
            break
    process.kill()
    process.communicate()
    time.sleep(0.1)

    def sessions(*words: str) -> str:
        done = subprocess.run(
            [PROGRAM, "sessions", *words], env=environment, capture_output=True, text=True, check=True
        )
        return done.stdout

    assert "interrupted" in sessions("list")
    shown = sessions("show", session[:13])
    assert "· interrupted" in shown
    assert "uncertain: it had started when the program ended" in shown
    assert json.loads(sessions("export", session))["calls"][0]["state"] == "unknown"
    assert "*Uncertain:" in sessions("export", session, "--format", "markdown")
