"""Runs of tasks: fresh copies, checks, repetition, and what goes wrong in one of them."""

import asyncio
from pathlib import Path
from typing import Any

import pytest

from toolgate import ToolCall, tool
from toolgate.evaluation import Evaluation, RunResult, Task
from toolgate.testing import ScriptedModel


@pytest.fixture
def start(tmp_path: Path) -> Path:
    place = tmp_path / "start"
    place.mkdir()
    (place / "a.txt").write_text("teh end\n")
    return place


def task(start: Path, **more: Any) -> Task:
    edit = {"tool": "edit_file", "arguments": {"path": "a.txt", "old_string": "teh", "new_string": "the"}}
    values = {"name": "typo", "workspace": start, "call": [edit], "check": [{"file": "a.txt", "equals": "the end\n"}]}
    return Task(**{**values, **more})


async def test_calls_are_made_in_a_copy_and_the_checks_pass(start: Path) -> None:
    checks = [
        {"command": "grep -q 'the end' a.txt"},
        {"file": "a.txt", "contains": "the", "matches": "^the.*d$"},
        {"file": "b.txt", "exists": False},
    ]
    report = await Evaluation([task(start, check=checks)], repeat=2).run()
    assert (report.passed, [run.run for run in report.runs], report.rows()[0][:2]) == (True, [1, 2], ["typo", "2/2"])
    assert [(run.calls, run.failed_calls) for run in report.runs] == [(1, 0), (1, 0)]
    assert (start / "a.txt").read_text() == "teh end\n"
    assert sorted(path.name for path in start.iterdir()) == ["a.txt"]


@pytest.mark.parametrize(
    ("check", "said"),
    [
        ({"command": "echo no >&2; exit 3"}, "exit code 3: no"),
        ({"command": "sleep 30", "timeout": 0.2}, "took longer than 0.2 s"),
        ({"file": "b.txt"}, "it does not exist"),
        ({"file": "a.txt", "exists": False}, "it exists"),
        ({"file": "a.txt", "contains": "teh"}, "it does not contain that"),
        ({"file": "a.txt", "equals": "x"}, "it is not that"),
        ({"file": "a.txt", "matches": "^x"}, "nothing in it matches that"),
        ({"file": "../start/a.txt"}, "outside"),
    ],
)
async def test_a_check_that_fails_says_why(start: Path, check: dict[str, Any], said: str) -> None:
    report = await Evaluation([task(start, check=[check])]).run()
    assert not report.passed
    (problem,) = report.runs[0].problems()
    assert said in problem


async def test_a_message_is_a_turn_of_the_agent(start: Path) -> None:
    edit = '{"path": "a.txt", "old_string": "teh", "new_string": "the"}'
    told: list[RunResult] = []

    def model() -> ScriptedModel:
        return ScriptedModel([[ToolCall(id="1", name="edit_file", arguments=edit)], "Done."])

    asked = task(start, call=(), message="Fix the typo")
    report = await Evaluation([asked], model=model, repeat=3, parallel=3, on_result=told.append).run()
    assert (report.passed, report.model, len(told)) == (True, "scripted", 3)


async def test_a_turn_that_fails_is_a_run_that_did_not_pass(start: Path) -> None:
    asked = task(start, call=(), message="Fix it", check=[{"file": "a.txt"}])
    report = await Evaluation([asked], model=lambda: ScriptedModel([])).run()
    assert not report.passed
    assert "The script has ended" in report.runs[0].error


async def test_full_access_is_denied_and_what_stays_inside_is_allowed(start: Path) -> None:
    calls = [
        {"tool": "Bash", "arguments": {"command": "rm a.txt"}},
        {"tool": "Bash", "arguments": {"command": "touch b.txt", "access": "full"}},
    ]
    checks = [{"file": "a.txt", "exists": False}, {"file": "b.txt", "exists": False}]
    report = await Evaluation([task(start, call=calls, check=checks)]).run()
    assert (report.passed, report.runs[0].failed_calls) == (True, 1)


async def test_what_takes_too_long_ends(start: Path) -> None:
    calls = [{"tool": "Bash", "arguments": {"command": "sleep 60"}}]
    report = await Evaluation([task(start, call=calls, timeout=0.5, check=[{"file": "a.txt"}])]).run()
    assert report.runs[0].error == "it took longer than 0.5 s"


async def test_no_more_run_at_the_same_time_than_was_said(start: Path) -> None:
    running, peak = 0, 0

    @tool(modes=["coding"])
    async def busy() -> None:
        """Be busy."""
        nonlocal running, peak
        running += 1
        peak = max(peak, running)
        await asyncio.sleep(0.05)
        running -= 1

    one = task(start, call=[{"tool": "busy"}], check=[{"file": "a.txt"}])
    report = await Evaluation([one], tools=[busy], repeat=5, parallel=2).run()
    assert (report.passed, peak) == (True, 2)


@pytest.mark.parametrize("wrong", [{"repeat": 0}, {"parallel": -1}, {"repeat": True}, {"repeat": "2"}])
def test_a_number_that_is_none_is_refused(start: Path, wrong: dict[str, Any]) -> None:
    with pytest.raises(ValueError, match="at least 1"):
        Evaluation([task(start)], **wrong)


def test_a_message_without_a_model_is_refused(start: Path) -> None:
    with pytest.raises(ValueError, match="needs a model"):
        Evaluation([task(start, call=(), message="x")])
