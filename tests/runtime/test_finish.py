"""The end of a call: its id, its error and its paths; no secret, no file of others, nothing too long."""

import asyncio
import json
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from pydantic import BaseModel, SecretStr

from tests.kit import PathParams, ProbeTool, call, raising, returning, run, toolset_of
from toolgate import (
    CallableToolset,
    ErrorCode,
    Status,
    Tool,
    ToolCall,
    ToolContext,
    ToolMode,
    ToolResponse,
    Workspace,
    builtin_registry,
)
from toolgate.runtime.finish import OutputLimits
from toolgate.settings import Settings
from toolgate.testing import AutoApprover, MemoryRecorder, violations


@pytest.mark.parametrize("status", list(Status))
async def test_e11_the_key_error_is_there_exactly_for_errors(status: Status) -> None:
    response = {
        Status.success: ToolResponse.success({}, "done"),
        Status.partial: ToolResponse.partial({}, "Half. Use more."),
        Status.error: ToolResponse.failure(ErrorCode.NOT_FOUND, "Gone.", next_step="Look elsewhere."),
    }[status]
    result = await run(ProbeTool(returning(response)))
    for document in (
        result.response.to_dict(),
        json.loads(result.response.to_json()),
        result.response.model_dump(),
        json.loads(result.response.model_dump_json()),
    ):
        assert ("error" in document) is (status is Status.error)
    assert result.is_error is (status is Status.error)


IDS = ["", "x" * 10_000, "a\nb", "a\x00b", "é😀", "{}", "../../x", " ", "'; DROP TABLE", "\u202e"]


@pytest.mark.parametrize("id", IDS)
@pytest.mark.parametrize("path", ["success", "failure", "unknown", "mode", "broken", "schema", "approval", "cancelled"])
async def test_e13_the_id_is_echoed_exactly_on_every_path(id: str, path: str) -> None:
    tools: list[Tool[Any]] = [
        ProbeTool(name="success"),
        ProbeTool(raising(KeyError("x")), name="failure"),
        ProbeTool(name="mode", allowed_modes=frozenset({ToolMode.chat_safe})),
        ProbeTool(name="broken"),
        ProbeTool(name="schema", Params=PathParams),
        ProbeTool(name="approval", requires_permission=True),
        ProbeTool(name="cancelled"),
    ]
    pending = toolset_of(*tools).handle(call(path, "{" if path == "broken" else "{}", id=id))
    if path == "cancelled":
        pending.cancel()
    result = await pending
    assert (pending.tool_call_id, result.tool_call_id, result.to_dict()["toolCallId"]) == (id, id, id)
    assert result.is_error is (path != "success")


async def test_e13_duplicate_ids_are_never_crossed() -> None:
    async def echo(params: Any, context: ToolContext) -> ToolResponse:
        await asyncio.sleep(0.001 * params.limit)
        return ToolResponse.success({"path": params.path}, "done")

    toolset = toolset_of(ProbeTool(echo, Params=PathParams, read_only=True))
    pending = [toolset.handle(call(arguments={"path": str(n), "limit": 10 - n}, id="same")) for n in range(10)]
    results = await asyncio.gather(*pending)
    assert [result.response.data["path"] for result in results] == [str(n) for n in range(10)]


@pytest.fixture
def project(tmp_path: Path) -> Iterator[CallableToolset]:
    root = tmp_path / "root"
    (root / "src").mkdir(parents=True)
    (root / "src" / "a.txt").write_text("hello\n")
    workspace = Workspace(root)
    yield CallableToolset(
        builtin_registry(), ToolContext(workspace=workspace, mode=ToolMode.coding, approver=AutoApprover())
    )
    workspace.close()


@pytest.mark.parametrize(
    ("name", "arguments", "resolved"),
    [
        ("read_file", {"path": "src/a.txt"}, "src/a.txt"),
        ("read_file", {"path": "./src/../src/a.txt"}, "src/a.txt"),
        ("write_file", {"path": "src/b/c.txt", "content": "x"}, "src/b/c.txt"),
        ("write_file", {"path": "src/a.txt", "content": "x", "dry_run": True}, "src/a.txt"),
        ("edit_file", {"path": "src/a.txt", "old_string": "hello", "new_string": "x"}, "src/a.txt"),
        ("ls", {"path": "src"}, "src"),
        ("ls", {}, "."),
        ("glob", {"pattern": "**/*.txt"}, "."),
        ("grep", {"pattern": "hello", "path": "src"}, "src"),
    ],
)
async def test_e14_paths_are_relative_to_the_root(
    project: CallableToolset, name: str, arguments: dict[str, Any], resolved: str
) -> None:
    result = await project.handle(call(name, arguments))
    assert not result.is_error
    assert result.response.context["cwd"] == "."
    assert result.response.context["path_resolved"] == resolved
    assert violations(result, root=str(project.context.require_workspace().root.parent)) == []


@pytest.mark.parametrize("name", ["read_file", "write_file", "edit_file", "ls", "glob", "grep"])
@pytest.mark.parametrize("path", ["absolute", "missing", "outside", "directory"])
async def test_e14_no_host_path_in_success_or_failure(project: CallableToolset, name: str, path: str) -> None:
    root = project.context.require_workspace().root
    given = {"absolute": str(root / "src" / "a.txt"), "missing": "no/such", "outside": "../x", "directory": "src"}[path]
    extra: dict[str, dict[str, Any]] = {
        "write_file": {"content": "x"},
        "edit_file": {"old_string": "hello", "new_string": "x"},
        "glob": {"pattern": "*"},
        "grep": {"pattern": "hello"},
    }
    result = await project.handle(call(name, {"path": given, **extra.get(name, {})}))
    assert violations(result, root=str(root.parent)) == []
    assert str(root) not in json.dumps(
        [result.response.data, {k: v for k, v in result.response.context.items() if k != "params_input"}]
    )


@pytest.mark.parametrize(
    ("name", "arguments"),
    [
        ("unknown", "{}"),
        ("unknown", '{"path": '),
        ("unknown \ud83d", "{}"),
        ("unknown", "\ud83d"),
        ("unknown", "é"),
        ("u" * 300, "{}"),
        ("probe", "{"),
        ("probe", '{"path": "é"'),
        ("probe", '{"pth": 1}'),
        ("probe", "x" * 100_000),
        ("paths", "{"),
        ("rendering", "{"),
        ("denied", "{}"),
    ],
)
async def test_a_refusal_is_the_same_with_and_without_a_recorder(name: str, arguments: str) -> None:
    class Count(BaseModel):
        count: int  # an example of it is ASCII, so its refusals go the short way

    class Rendering(ProbeTool):
        def render(self, response: ToolResponse) -> str:
            return f"rendered {response.text}"

    tools = [
        ProbeTool(Params=Count),
        ProbeTool(name="paths", Params=PathParams),
        Rendering(name="rendering", Params=Count),
        ProbeTool(name="denied", allowed_modes=frozenset({ToolMode.chat_safe})),
    ]
    short, long = [
        await toolset_of(*tools, recorder=recorder).handle(call(name, arguments))
        for recorder in (None, MemoryRecorder())
    ]
    assert short.to_dict() == long.to_dict()
    assert short.response.model_copy(update={"stats": {}}) == long.response.model_copy(update={"stats": {}})
    assert list(short.response.stats) == list(long.response.stats) == ["time_ms"]


@pytest.mark.parametrize("name", ["unknown", "unknown \ud83d", "u" * 300])
@pytest.mark.parametrize("arguments", ["{}", "é", "\ud83d"])
async def test_an_unknown_tool_is_answered_alike_when_it_is_called_again(name: str, arguments: str) -> None:
    toolset = toolset_of(ProbeTool())  # the second answer goes the shortest way: the tools were looked up
    first, second = [await toolset.handle(call(name, arguments)) for _ in range(2)]
    assert first.to_dict() == second.to_dict()
    assert first.response.model_copy(update={"stats": {}}) == second.response.model_copy(update={"stats": {}})


def limits(**model: object) -> tuple[OutputLimits, ToolContext]:
    context = ToolContext(settings=Settings.model_validate({"model": model}))
    return OutputLimits(context), context


def test_a_secret_is_masked_everywhere() -> None:
    found, _ = limits(api_key=SecretStr("sk-0123456789abcdef"))
    key = "sk-0123456789abcdef"
    response = ToolResponse.failure(
        ErrorCode.EXECUTION_ERROR, f"no {key}", data={"a": [key]}, context={"path_resolved": key}
    )
    masked, output = found.masked(response, f"output {key}")
    assert key not in output
    assert key not in masked.to_json()
    assert masked.error is not None
    assert masked.error.code is ErrorCode.EXECUTION_ERROR


def test_without_secrets_there_is_nothing_to_mask() -> None:
    found, _ = limits()
    assert found.secrets == ()


def test_an_output_that_the_runtime_did_not_write_is_not_named() -> None:
    found, context = limits()
    data = {
        "truncated": True,
        "truncation": {"full_output_path": "tool-output/x.txt"},
        "full_output": {"stdout": "y", "stderr": "z"},
    }
    context.state.kept_outputs.add("y")
    owned = found.owned(ToolResponse.partial(data, "cut"))
    assert owned.data["truncation"] == {"full_output_path": None}
    assert owned.data["full_output"] == {"stdout": "y"}


@pytest.mark.parametrize("data", [{}, {"a": 1}])
def test_a_response_that_names_no_output_is_left_alone(data: dict[str, int]) -> None:
    found, _ = limits()
    response = ToolResponse.success(data, "done")
    assert found.owned(response) is response


class Shouts(ProbeTool):
    """Renders errors, too."""

    def render(self, response: ToolResponse) -> str:
        return response.text.upper()


@pytest.mark.parametrize(
    ("name", "arguments"),
    [
        ("nope", "{}"),
        ("n\u00f6pe", "{}"),
        ("probe", '{"a": '),
        ("probe", '{"\u00e4": '),
        ("probe", '{"unknown": 1}'),
        ("probe", '{"path": 1}'),
        ("elsewhere", "{}"),
        ("shouts", '{"unknown": 1}'),
        ("x" * 5000, "y" * 5000),
    ],
)
async def test_a_refusal_is_the_same_in_one_step_and_in_all_of_them(name: str, arguments: str) -> None:
    results = []
    for recorder in (None, MemoryRecorder()):  # what is recorded takes every step
        tools = [
            ProbeTool(Params=PathParams),
            ProbeTool(name="elsewhere", allowed_modes=frozenset({ToolMode.chat_safe})),
            Shouts(name="shouts"),
        ]
        toolset = toolset_of(*tools, recorder=recorder)
        document = (await toolset.handle(ToolCall(id="1", name=name, arguments=arguments))).model_dump()
        assert document["response"]["stats"].pop("time_ms") >= 0
        results.append(document)
    assert results[0] == results[1]
    assert results[0]["is_error"]
