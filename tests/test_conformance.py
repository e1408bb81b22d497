"""The checks that tools and envelopes keep the rules."""

from typing import Any

import pytest

from tests.kit import Foreign, ProbeTool, raising, returning, run
from toolgate import (
    ErrorCode,
    ToolContext,
    ToolError,
    ToolMode,
    ToolResponse,
    builtin_registry,
)
from toolgate.testing import check_tool, violations


def envelope(**changes: Any) -> dict[str, Any]:
    good = {
        "status": "success",
        "data": {},
        "text": "Done.",
        "stats": {"time_ms": 1.5},
        "context": {"cwd": ".", "params_input": {}},
    }
    return {**good, **changes}


def failed(**changes: Any) -> dict[str, Any]:
    error = {"code": "NOT_FOUND", "message": "It is not there."}
    return envelope(status="error", error=error, text="It is not there. Check the path.", **changes)


@pytest.mark.parametrize(
    "good",
    [
        envelope(),
        envelope(error=None),
        envelope(status="partial", data={"truncated": True}, text="Cut. Use offset=2 to go on."),
        envelope(status="partial", data={"applied": False}, text="Dry-run only. Call again without dry_run."),
        envelope(status="partial", data={"fallback": "python"}, text="ripgrep 不可用。请安装。"),
        envelope(data={"entries": [{"path": "a/", "type": "dir"}, {"path": "l", "type": "link"}], "truncated": False}),
        envelope(data={"paths": ["a", "b/c.py", "..x"]}),
        envelope(data={"matches": [{"file": "a", "line": 1, "text": "x", "before": []}]}),
        envelope(data={"matches": [{"id": 7, "content": "a note"}]}),
        envelope(data={"content": "", "applied": True}),
        envelope(context={"cwd": "packages/app", "params_input": "{broken", "path_resolved": "a/b"}),
        envelope(stats={"time_ms": 0, "total": 5, "engine": "rg"}),
        failed(),
    ],
)
def test_a_good_envelope_breaks_no_rule(good: dict[str, Any]) -> None:
    assert violations(good) == []


TRUNCATION = {
    "direction": "head",
    "max_lines": 2000,
    "max_bytes": 51200,
    "original_lines": 5234,
    "original_bytes": 182345,
    "kept_lines": 2000,
    "kept_bytes": 49872,
    "full_output_path": "tool-output/tool_20260101_000000_Tool.json",
}


def cut(**changes: Any) -> dict[str, Any]:
    data = {"truncated": True, "truncation": {**TRUNCATION, **changes}, "preview": "x"}
    return envelope(status="partial", data=data, text="Truncated. Next: read_file.")


def test_the_frameworks_own_truncation_breaks_no_rule() -> None:
    assert violations(cut()) == []
    assert violations(cut(full_output_path=None)) == []


@pytest.mark.parametrize(
    ("bad", "words"),
    [
        ({}, "top-level keys are missing"),
        ({**envelope(), "call_id": "1"}, "unknown top-level keys: call_id"),
        (envelope(status="ok"), "status is 'ok'"),
        (envelope(data=None), "data is NoneType"),
        (envelope(data=[]), "data is list"),
        (envelope(stats=None), "stats is NoneType"),
        (envelope(data={"x": float("nan")}), "not strict JSON"),
        (envelope(data={"x": "\ud800"}), "not strict JSON"),
        (envelope(data={"x": b"y"}), "not strict JSON"),
        (envelope(error={"code": "NOT_FOUND", "message": "x"}), "error is present although"),
        (envelope(status="error", text="Use another."), "error must be an object"),
        ({**failed(), "error": "Error: x"}, "error must be an object"),
        ({**failed(), "error": {"code": "NO_SUCH_CODE", "message": "x"}}, "is not one of the codes"),
        ({**failed(), "error": {"code": "NOT_FOUND", "message": " "}}, "error.message is empty"),
        (envelope(text="  "), "text is empty"),
        (envelope(text=None), "text is empty"),
        ({**failed(), "text": "It is not there."}, "names no next step"),
        (envelope(status="partial", text="Half of it."), "names no next step"),
        (envelope(stats={}), "stats.time_ms is None"),
        (envelope(stats={"time_ms": True}), "stats.time_ms is True"),
        (envelope(stats={"time_ms": -1}), "stats.time_ms is -1"),
        (envelope(stats={"time_ms": 1, "x": []}), "stats.x is list"),
        (envelope(context={"params_input": {}}), "context.cwd is None"),
        (envelope(context={"cwd": "."}), "context.params_input is missing"),
        (envelope(context={"cwd": "/srv/app", "params_input": {}}), "is not relative"),
        (envelope(context={"cwd": "a//b", "params_input": {}}), "is not a normal POSIX path"),
        (envelope(context={"cwd": ".", "params_input": {}, "path_resolved": "../x"}), "is not relative"),
        (envelope(context={"cwd": ".", "params_input": {}, "path_resolved": "C:\\x"}), "is not relative"),
        (envelope(data={"truncated": True}), "data.truncated is true although"),
        (envelope(data={"truncated": "yes"}), "data.truncated is not a boolean"),
        (envelope(data={"applied": False}), "data.applied is false although"),
        (envelope(data={"fallback": "python"}), "data.fallback is present although"),
        (envelope(data={"applied": 1}), "data.applied is not a boolean"),
        (envelope(data={"content": ["x"]}), "data.content is not a string"),
        (envelope(data={"entries": {}}), "data.entries is not a list"),
        (envelope(data={"entries": [{"path": "x", "type": "folder"}]}), "an item of data.entries"),
        (envelope(data={"entries": ["x"]}), "an item of data.entries"),
        (envelope(data={"paths": ["/etc/passwd"]}), "is not relative"),
        (envelope(data={"paths": [1]}), "is 1, not a path"),
        (envelope(data={"matches": ["a:1:x"]}), "an item of data.matches"),
        (envelope(data={"matches": [{"file": "a", "line": "1", "text": "x"}]}), "an item of data.matches"),
        (envelope(data={"matches": [{"file": "a", "line": 1}]}), "has no text"),
        (cut(kept_lines=9999), "keeps more lines"),
        (cut(direction="middle"), "direction is 'middle'"),
        (cut(original_bytes="many"), "data.truncation needs"),
        (cut(full_output_path="/tmp/x"), "is not relative"),
        (envelope(status="partial", data={"truncation": TRUNCATION}, text="Cut. Use less."), "needs data.truncated"),
    ],
)
def test_a_broken_rule_is_named(bad: dict[str, Any], words: str) -> None:
    assert [problem for problem in violations(bad) if words in problem], violations(bad)


def test_something_that_is_no_envelope_is_named() -> None:
    assert violations([1]) == ["the envelope is list, not an object"]  # type: ignore[arg-type]  # what is tested


def test_the_root_may_not_be_named() -> None:
    bad = envelope(text="Wrote /srv/project/a.txt.")
    assert violations(bad, root="/srv/project") == ["the host path '/srv/project' is named"]
    assert violations(bad, root="/srv/other") == []


def test_the_root_may_be_quoted_as_it_was_typed() -> None:
    context = {"cwd": ".", "params_input": {"path": "/srv/project/a.txt"}}
    assert violations(envelope(text="Read '/srv/project/a.txt'.", context=context), root="/srv/project") == []


async def test_a_whole_result_is_checked_too() -> None:
    result = await run(ProbeTool(returning(ToolResponse.success({}, "done"))))
    assert violations(result) == []
    assert violations(result.model_copy(update={"message": "something else"})) == [
        "message is neither the error's message nor the envelope's text"
    ]
    assert violations(result.model_copy(update={"output": "\ud800"})) != []


async def test_a_result_that_failed_has_a_category() -> None:
    result = await run(ProbeTool(raising(ToolError(ErrorCode.NOT_FOUND, "Gone.", "Look elsewhere."))))
    assert violations(result) == []
    assert violations(result.model_copy(update={"extras": {}})) == ["extras.failureCategory is missing"]


async def test_check_tool_passes_a_good_tool() -> None:
    current_time = builtin_registry().get("current_time")
    assert current_time is not None
    assert await check_tool(current_time, {"timezone": "UTC"}) == []


async def test_check_tool_runs_a_tool_that_asks() -> None:
    tool = ProbeTool(requires_permission=True)
    assert await check_tool(tool, {}) == []
    assert len(tool.calls) == 1


async def test_check_tool_names_what_a_bad_tool_does() -> None:
    tool = ProbeTool(returning(ToolResponse.partial({}, "half")))
    assert await check_tool(tool, {}) == ["valid arguments: text of a partial result names no next step"]


async def test_check_tool_names_a_tool_that_breaks() -> None:
    assert await check_tool(ProbeTool(raising(KeyError("x"))), {}) == [
        "valid arguments: ended with INTERNAL_ERROR: Tool 'probe' failed unexpectedly (KeyError)."
    ]


async def test_check_tool_names_arguments_that_do_not_fit() -> None:
    problems = await check_tool(ProbeTool(), {"nonsense": 1})
    assert problems
    assert problems[0].startswith("valid arguments: ended with INVALID_PARAM")


async def test_check_tool_names_a_tool_that_no_mode_shows() -> None:
    assert await check_tool(ProbeTool(allowed_modes=frozenset()), {}) == [
        "the tool is not shown in mode chat_safe: declare allowed_modes"
    ]


async def test_check_tool_names_a_tool_without_words() -> None:
    assert await check_tool(ProbeTool(description=" "), {}) == ["the tool has no description"]


async def test_check_tool_runs_foreign_tools() -> None:
    async def answer(arguments: dict[str, Any]) -> str:
        return "fine"

    schema = {"type": "object", "properties": {"n": {"type": "integer"}}, "required": ["n"]}
    tool = Foreign(answer, schema)
    assert await check_tool(tool, {"n": 1}) == []
    assert tool.calls == [{"n": 1}]


async def test_check_tool_uses_the_context_that_it_is_given() -> None:
    tool = ProbeTool(allowed_modes=frozenset({ToolMode.chat_safe}))
    assert await check_tool(tool, {}, context=ToolContext(mode=ToolMode.coding)) == [
        "the tool is not shown in mode coding: declare allowed_modes"
    ]
