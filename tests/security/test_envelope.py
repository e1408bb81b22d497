"""Group E of the attack matrix: hostile arguments, hostile tools, and the one envelope for all of them."""

import asyncio
import json
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from tests.kit import Foreign, PathParams, ProbeTool, call, code_of, raising, returning, run, toolset_of
from toolgate import (
    CallableToolset,
    ErrorCode,
    Status,
    Tool,
    ToolContext,
    ToolError,
    ToolMode,
    ToolResponse,
    ToolResult,
    Workspace,
    builtin_registry,
)
from toolgate.testing import AutoApprover, MemoryRecorder, violations


async def refused(arguments: str, *, id: str = "c1") -> ToolResult:
    """The result of hostile arguments: the handler was not called, the next ordinary call works."""
    tool, recorder = ProbeTool(Params=PathParams), MemoryRecorder()
    toolset = toolset_of(tool, recorder=recorder)
    result = await toolset.handle(call(arguments=arguments, id=id))
    assert (result.tool_call_id, result.is_error, tool.calls) == (id, True, [])
    assert violations(result) == []
    assert [record.kind for record in recorder.records] == ["decision", "finished"]
    assert code_of(await toolset.handle(call(arguments={"path": "a"}))) is None
    return result


@pytest.mark.parametrize(
    "arguments", ["{", '{"path": ', "{'path': 'a'}", '{"path": "a"', "path=a", "<path>a</path>", "\x00"]
)
async def test_e01_broken_json(arguments: str) -> None:
    result = await refused(arguments, id="id-e01")
    assert "Invalid parameters" in result.message
    assert result.extras["failureCategory"] == "invalid_usage"
    assert result.extras["toolName"] == "probe"
    assert result.extras["parseError"]
    assert result.extras["parseError"] in result.message


@pytest.mark.parametrize(
    "arguments", ['{"path":"a","path":"../b"}', '{"path":"a","limit":1,"path":"a"}', r'{"path":"a","\u0070ath":"../b"}']
)
async def test_e02_a_key_that_stands_twice(arguments: str) -> None:
    result = await refused(arguments)
    assert code_of(result) == "INVALID_PARAM"
    assert "duplicate key 'path'" in result.message


@pytest.mark.parametrize("number", ["NaN", "Infinity", "-Infinity", "1e999", "-1e999"])
async def test_e03_numbers_that_json_does_not_have_come_not_in(number: str) -> None:
    assert code_of(await refused(f'{{"path": "a", "limit": {number}}}')) == "INVALID_PARAM"
    assert code_of(await refused(f'{{"path": "a", "nested": [{{"x": {number}}}]}}')) == "INVALID_PARAM"


@pytest.mark.parametrize("number", [float("nan"), float("inf"), float("-inf")])
async def test_e03_numbers_that_json_does_not_have_come_not_out(number: float) -> None:
    responses = [
        ToolResponse.success({"x": number}, "done"),
        ToolResponse.success({"deep": [{"x": (number,)}]}, "done"),
        ToolResponse.success({}, "done", stats={"x": number}),
        ToolResponse.success({}, "done", context={"x": number}),
        ToolResponse.failure(ErrorCode.NOT_FOUND, "Gone.", data={"x": number}),
    ]
    for response in responses:
        result = await run(ProbeTool(returning(response)))
        assert code_of(result) == "INTERNAL_ERROR"
        json.loads(result.response.to_json(), parse_constant=pytest.fail)


async def test_e03_control_finite_numbers_pass() -> None:
    result = await run(ProbeTool(returning(ToolResponse.success({"x": 1e300, "y": "NaN"}, "done"))))
    assert json.loads(result.response.to_json())["data"] == {"x": 1e300, "y": "NaN"}


@pytest.mark.parametrize(
    "arguments",
    [
        "[" * 100_000,
        '{"path":' + "[" * 100_000,
        '{"a":' * 100_000,
        '{"path": "a", "x": ' + "[" * 5000 + "]" * 5000 + "}",
    ],
)
async def test_e04_absurd_nesting(arguments: str) -> None:
    assert code_of(await refused(arguments)) == "INVALID_PARAM"


@pytest.mark.parametrize("escape", [r"\ud800", r"\uDFFF", r"\udc00\ud800", r"x\ud83dx"])
async def test_e05_a_lone_surrogate_in_arguments(escape: str) -> None:
    assert code_of(await refused(f'{{"path": "{escape}"}}')) == "INVALID_PARAM"
    assert code_of(await refused(f'{{"path": "a", "{escape}": 1}}')) == "INVALID_PARAM"


async def test_e05_a_lone_surrogate_itself_in_arguments() -> None:
    assert code_of(await refused('{"path": "\ud800"}')) == "INVALID_PARAM"


async def test_e05_a_lone_surrogate_in_the_name() -> None:
    result = await toolset_of(ProbeTool()).handle(call("probe\ud800"))
    assert code_of(result) == "TOOL_NOT_FOUND"
    assert (result.response.to_json() + result.output + result.message).encode()


@pytest.mark.parametrize("tool_name", ["read_file", "write_file", "edit_file", "ls", "glob", "grep"])
async def test_e05_a_lone_surrogate_for_the_file_tools(tool_name: str, tmp_path: Path) -> None:
    tool = builtin_registry().get(tool_name)
    assert tool is not None
    text = r'{"path": "\ud800", "content": "\ud800", "pattern": "\ud800", "old_string": "\ud800", "new_string": ""}'
    workspace = Workspace(tmp_path)
    result = await run(tool, text, workspace=workspace, approver=AutoApprover())
    workspace.close()
    assert (code_of(result), list(tmp_path.iterdir())) == ("INVALID_PARAM", [])


class Quiet(ProbeTool):
    """Renders nothing of its data."""

    def render(self, response: ToolResponse) -> str:
        return "quiet"


@pytest.mark.parametrize(
    "tool",
    [
        ProbeTool(returning(ToolResponse.success({"x": "a\ud800"}, "done"))),
        ProbeTool(returning(ToolResponse.success({"\ud800": 1}, "done"))),
        ProbeTool(returning(ToolResponse.success({}, "a\ud800"))),
        ProbeTool(returning(ToolResponse.success({}, "done", context={"x": "\ud800"}))),
        ProbeTool(returning(ToolResponse.success({}, "done", stats={"x": "\ud800"}))),
        ProbeTool(raising(ToolError(ErrorCode.NOT_FOUND, "a\ud800", "Use \udfff.", data={"x": "\ud800"}))),
        Quiet(returning(ToolResponse.success({"x": ["\ud800"]}, "done"))),
        Quiet(returning(ToolResponse.success({}, "a\ud800"))),
        Foreign(lambda _: "\ud800", name="probe"),
        Foreign(lambda _: {"error": "\ud800"}, name="probe"),
    ],
)
async def test_e05_a_lone_surrogate_out_of_a_tool(tool: Any) -> None:
    recorder = MemoryRecorder()
    result = await toolset_of(tool, recorder=recorder).handle(call())
    assert violations(result) == []
    assert (result.response.to_json() + result.output + result.message + str(result.extras)).encode()
    for record in recorder.records:
        assert record.model_dump_json().encode()


@pytest.mark.parametrize("digits", [5_000, 50_000])
async def test_e06_an_integer_of_thousands_of_digits(digits: int) -> None:
    assert code_of(await refused(f'{{"path": "a", "limit": {"9" * digits}}}')) == "INVALID_PARAM"
    assert code_of(await refused(f'{{"path": "a", "limit": -{"9" * digits}}}')) == "INVALID_PARAM"


@pytest.mark.parametrize(
    ("arguments", "key"),
    [
        ({"path": "a", "limit": True}, "limit"),
        ({"path": "a", "limit": 1.0}, "limit"),
        ({"path": "a", "limit": 1.5}, "limit"),
        ({"path": "a", "limit": "3"}, "limit"),
        ({"path": "a", "limit": None}, "limit"),
        ({"path": ["a"]}, "path"),
        ({"path": None}, "path"),
        ({"path": 1}, "path"),
        ({"path": {"path": "a"}}, "path"),
        ({"path": "a", "colour": "red"}, "colour"),
        ({"Path": "a"}, "path"),
        ({}, "path"),
    ],
)
async def test_e07_the_wrong_type_an_unknown_or_a_missing_key(arguments: dict[str, Any], key: str) -> None:
    result = await refused(json.dumps(arguments))
    assert (code_of(result), result.extras["toolName"]) == ("INVALID_PARAM", "probe")
    assert f"{key}: " in result.message


@pytest.mark.parametrize("arguments", ["null", "[]", '"x"', "1", "true", '[{"path": "a"}]'])
async def test_e08_anything_but_an_object(arguments: str) -> None:
    result = await refused(arguments)
    assert (code_of(result), result.extras["parseError"]) == ("INVALID_PARAM", "expected a JSON object")


@pytest.mark.parametrize("arguments", ["\ufeff", '\ufeff{"path": "a"}', "\ufeff "])
async def test_e08_a_byte_order_mark(arguments: str) -> None:
    assert code_of(await refused(arguments)) == "INVALID_PARAM"


@pytest.mark.parametrize("arguments", ["", " ", "\n\t", "{}"])
async def test_e08_control_empty_or_blank_is_an_empty_object(arguments: str) -> None:
    assert code_of(await run(ProbeTool(), arguments)) is None


ERRORS = [
    Exception("/home/me/secret"),
    BaseException("/home/me/secret"),
    SystemExit("/home/me/secret"),
    KeyboardInterrupt("/home/me/secret"),
    GeneratorExit("/home/me/secret"),
    RecursionError("/home/me/secret"),
    MemoryError("/home/me/secret"),
    StopIteration("/home/me/secret"),
    StopAsyncIteration("/home/me/secret"),
    AssertionError("/home/me/secret"),
    UnicodeDecodeError("utf-8", b"/home/me/secret", 0, 1, "secret"),
    ExceptionGroup("/home/me/secret", [ValueError("secret")]),
    BaseExceptionGroup("/home/me/secret", [SystemExit("secret")]),
]


@pytest.mark.parametrize("when", ["at once", "later", "in a thread", "in a task", "gathered", "while planning"])
@pytest.mark.parametrize("error", ERRORS, ids=lambda error: type(error).__name__)
async def test_e09_whatever_a_tool_raises(error: BaseException, when: str, caplog: pytest.LogCaptureFixture) -> None:
    async def behaviour(params: Any, context: ToolContext) -> ToolResponse:
        if when == "later":
            await asyncio.sleep(0)
        leaves = not isinstance(error, StopIteration | SystemExit | KeyboardInterrupt)
        if when == "in a thread" and not isinstance(error, StopIteration):  # that cannot leave one
            await asyncio.to_thread(_raise, error)
        if when == "in a task" and leaves:  # the others end the event loop itself
            await asyncio.create_task(_raise_later(error))
        if when == "gathered" and leaves:
            await asyncio.gather(asyncio.sleep(0), _raise_later(error))
        raise error

    class Plans(ProbeTool):
        async def prepare(self, params: Any, context: ToolContext) -> Any:
            await behaviour(params, context)

    toolset = toolset_of(Plans(behaviour) if when == "while planning" else ProbeTool(behaviour), ProbeTool(name="next"))
    result = await asyncio.wait_for(toolset.handle(call(id="e09")), 5)
    assert (result.tool_call_id, code_of(result)) == ("e09", "INTERNAL_ERROR")
    shown = result.response.to_json() + result.output + " ".join(record.getMessage() for record in caplog.records)
    assert [word for word in ("secret", "Traceback", ".py", "/home", "/work") if word in shown] == []
    assert violations(result) == []
    assert code_of(await toolset.handle(call("next"))) is None


def _raise(error: BaseException) -> None:
    raise error


async def _raise_later(error: BaseException) -> None:
    await asyncio.sleep(0)
    raise error


@pytest.mark.parametrize("how", ["awaited", "in the background"])
async def test_e09_a_task_that_does_not_stop_is_left_behind(how: str, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("toolgate.runtime.relay.GRACE", 0.05)
    monkeypatch.setattr("toolgate.runtime.pending.GRACE", 0.05)
    over = asyncio.Event()

    async def stubborn() -> None:
        while not over.is_set():
            try:
                await over.wait()
            except asyncio.CancelledError:
                continue

    async def behaviour(params: Any, context: ToolContext) -> ToolResponse:
        await asyncio.create_task(stubborn())
        raise AssertionError

    pending = toolset_of(ProbeTool(behaviour)).handle(call(id="e09"))
    if how == "awaited":
        asyncio.get_running_loop().call_later(0.05, pending.cancel)
    else:
        await asyncio.sleep(0.05)
        pending.cancel()
    result = await asyncio.wait_for(asyncio.shield(_waits(pending)), 5)
    over.set()
    assert (result.tool_call_id, code_of(result)) == ("e09", "CANCELLED")


def _waits(pending: Any) -> "asyncio.Task[ToolResult]":
    async def wait() -> ToolResult:
        found: ToolResult = await pending
        return found

    return asyncio.get_running_loop().create_task(wait())


async def test_e09_a_task_that_ends_well_in_spite_of_it_is_heard() -> None:
    async def careful() -> int:
        try:
            await asyncio.sleep(60)
        except asyncio.CancelledError:
            return 42
        raise AssertionError

    seen: list[int] = []

    async def behaviour(params: Any, context: ToolContext) -> ToolResponse:
        seen.append(await asyncio.create_task(careful()))
        return ToolResponse.success({}, "done")

    pending = toolset_of(ProbeTool(behaviour)).handle(call(id="e09"))
    asyncio.get_running_loop().call_later(0.05, pending.cancel)
    result = await asyncio.wait_for(_waits(pending), 5)
    assert (seen, code_of(result)) == ([42], "CANCELLED")


@pytest.mark.parametrize("when", ["at once", "later"])
async def test_e09_a_tool_that_cancels_itself(when: str) -> None:
    async def behaviour(params: Any, context: ToolContext) -> ToolResponse:
        if when == "later":
            await asyncio.sleep(0)
        raise asyncio.CancelledError("/home/me/secret")

    result = await run(ProbeTool(behaviour), id="e09")
    task = asyncio.current_task()
    assert task is not None
    assert (result.tool_call_id, code_of(result), task.cancelling()) == ("e09", "CANCELLED", 0)


def circular() -> dict[str, Any]:
    circle: dict[str, Any] = {}
    circle["self"] = circle
    return circle


def unchecked(**changes: Any) -> ToolResponse:
    """A response that nobody validated."""
    fields: dict[str, Any] = {
        "status": Status.success,
        "data": {},
        "text": "x",
        "error": None,
        "stats": {},
        "context": {},
    }
    return ToolResponse.model_construct(**{**fields, **changes})


class Sneaky(ToolResponse):
    """A response with a field of its own."""

    extra_top: int = 7


@pytest.mark.parametrize(
    "value",
    [
        None,
        b"bytes",
        "text",
        7,
        circular(),
        {"status": "success", "data": {}, "text": "x"},
        ToolResponse.success(circular(), "done"),
        ToolResponse.success({"x": b"bytes"}, "done"),
        ToolResponse.success({"x": {1, 2}}, "done"),
        ToolResponse.success({"x": object()}, "done"),
        unchecked(status="ok"),
        unchecked(data=None),
        unchecked(data={("a",): 1}),
        unchecked(data={"truncated": True}),
        unchecked(status=Status.error),
        unchecked(text=None),
        unchecked(stats=None),
        unchecked(context=None),
        unchecked(error="Error: x"),
        ToolResponse,
        asyncio.sleep,
    ],
    ids=lambda value: type(value).__name__,
)
async def test_e10_a_tool_that_returns_nonsense(value: Any) -> None:
    tool = ProbeTool(returning(value))
    result = await run(tool, id="e10")
    assert (result.tool_call_id, code_of(result)) == ("e10", "INTERNAL_ERROR")
    assert violations(result) == []


async def test_e10_a_response_with_a_field_of_its_own_does_not_show_it() -> None:
    result = await run(ProbeTool(returning(Sneaky(status=Status.success, data={}, text="x"))))
    assert violations(result) == []
    assert json.loads(result.response.to_json()).keys() == {"status", "data", "text", "stats", "context"}


async def test_e10_a_foreign_tool_that_returns_nonsense() -> None:
    for value in (b"x", circular(), {"x": {1}}, {"status": "ok", "data": {}, "text": "x"}, object()):
        result = await run(Foreign(lambda _, value=value: value))  # type: ignore[misc]  # bound here
        assert code_of(result) == "INTERNAL_ERROR"
        assert violations(result) == []


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


async def test_e12_what_is_stored_of_arguments_is_bounded_and_redacted() -> None:
    recorder = MemoryRecorder()
    tool = Foreign(lambda _: "done")
    arguments = {"content": "x" * 1_000_000, "password": "hunter2", "nested": {"api_key": "k", "list": [1] * 10_000}}
    result = await run(tool, arguments, recorder=recorder)
    kept = "".join(record.model_dump_json() for record in recorder.records)
    assert len(kept) < 20_000
    assert "hunter2" not in kept
    assert "[redacted]" in kept
    assert result.response.context["params_input"] == arguments


async def test_e12_five_megabytes_are_too_much() -> None:
    recorder = MemoryRecorder()
    result = await run(ProbeTool(Params=PathParams), {"path": "x" * 5_000_000}, recorder=recorder)
    assert code_of(result) == "INVALID_PARAM"
    assert len("".join(record.model_dump_json() for record in recorder.records)) < 20_000


async def test_e12_what_is_stored_of_arguments_that_do_not_parse_is_bounded_too() -> None:
    recorder = MemoryRecorder()
    await run(ProbeTool(Params=PathParams), '{"password": "hunter2", "content": "' + "x" * 500_000, recorder=recorder)
    assert len("".join(record.model_dump_json() for record in recorder.records)) < 20_000


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
