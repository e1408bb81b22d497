"""The report of an evaluation as JSON and Markdown."""

import json

from toolgate.evaluation.report import CheckResult, Report, RunResult

PASSED = RunResult(task="a", run=1, seconds=1.0, calls=2, checks=(CheckResult(check="file 'x' exists", passed=True),))
FAILED = RunResult(
    task="a|b",
    run=1,
    seconds=3.0,
    calls=1,
    failed_calls=1,
    input_tokens=10,
    output_tokens=5,
    checks=(CheckResult(check="command 'x'", passed=False, detail="exit code 1:\nno"),),
)


def test_markdown_has_a_table_and_what_went_wrong() -> None:
    text = Report(model="m", runs=(PASSED, FAILED)).to_markdown()
    assert "Model: `m`. 1 of 2 runs passed." in text
    assert "| a | 1/1 | 1.0 | 2.0 | 0 | 0 |" in text
    assert "| a\\|b | 0/1 | 3.0 | 1.0 | 1 | 15 |" in text
    assert "- a\\|b, run 1: command 'x': exit code 1: no" in text


def test_json_has_everything() -> None:
    document = json.loads(Report(model="m", runs=(PASSED, FAILED)).to_json())
    assert (document["model"], document["runs"], document["passed"]) == ("m", 2, 1)
    assert [run["passed"] for run in document["results"]] == [True, False]
    assert document["results"][1]["checks"][0]["detail"] == "exit code 1:\nno"


def test_an_error_is_a_run_that_did_not_pass() -> None:
    run = RunResult(task="a", run=1, seconds=0.1, error="it took too long")
    assert (run.passed, run.problems()) == (False, ["it took too long"])
