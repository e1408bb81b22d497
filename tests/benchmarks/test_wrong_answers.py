"""A benchmark whose answer is wrong fails instead of printing a time."""

import ast
import asyncio
import importlib
import inspect
from collections.abc import Iterator
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest

from benchmarks import (
    bench_analysis,
    bench_dispatch,
    bench_edit,
    bench_gateway,
    bench_handle,
    bench_import,
    bench_mcp,
    bench_patch,
    bench_read,
    bench_search,
    bench_shell,
    bench_store,
)
from benchmarks.__main__ import discover
from benchmarks.bench import Bench
from benchmarks.harness import Result, _keep
from benchmarks.peers import lacks
from benchmarks.report import table


async def wrong(*_: Any) -> Any:
    """Answers at once, and does nothing."""
    return "error: something went wrong"


async def nothing(*_: Any) -> Any:
    """Finds nothing."""
    return []


class Silent:
    """A shell and a store that do nothing."""

    async def run(self, command: str) -> int | str:
        return "error: something went wrong"

    async def append(self, *_: str) -> None:
        pass

    async def history(self, _: str) -> list[Any]:
        return []

    async def close(self) -> None:
        pass


def talks(name: str) -> tuple[Any, str, dict[str, Any]]:
    """An MCP server that answers every call with the same text."""
    content = [{"type": "text", "text": "nothing to see"}]
    return SimpleNamespace(ask=lambda *_, **__: {"content": content}), name, {}


WRONG: list[tuple[Bench, Any]] = [
    (bench_analysis.ANALYSIS, lambda _: True),
    (bench_dispatch.DISPATCH, lambda *_: wrong()),
    (bench_edit.EDIT, wrong),
    (bench_handle.HANDLE, Silent()),
    (bench_import.IMPORT, "import sys; sys.exit(0)"),
    (bench_mcp.CALL, talks("echo")),
    (bench_patch.PATCH, wrong),
    (bench_read.READ, wrong),
    (bench_search.GREP, nothing),
    (bench_search.GLOBS, nothing),
    (bench_shell.SHELL, Silent()),
    (bench_store.STORE, bench_store.Prepared(Silent(), "/nonexistent")),
]
"""Benchmarks, and what `setup` would have made of a contender that does nothing."""


def cases() -> Iterator[Any]:
    for bench, broken in WRONG:
        for case in bench.cases:
            if (bench.name, case) not in {("dispatch", "unknown"), ("dispatch", "badjson")}:
                yield pytest.param(bench, broken, case, id=f"{bench.name}: {case}")


@pytest.mark.parametrize(("bench", "broken", "case"), list(cases()))
async def test_no_time_for_a_wrong_answer(
    bench: Bench, broken: Any, case: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("benchmarks.harness.DATA", tmp_path)
    monkeypatch.setattr("benchmarks.bench_read.file", lambda: tmp_path / "file", raising=False)

    with pytest.raises(AssertionError):
        await bench.measure(broken, case)


@pytest.mark.parametrize("case", ["unknown", "badjson"])
async def test_no_time_for_a_call_that_must_be_refused_and_is_not(case: str) -> None:
    async def adds(*_: str) -> str:
        return '{"sum": 42}'

    with pytest.raises(AssertionError):
        await bench_dispatch.DISPATCH.measure(adds, case)


class Client:
    """A client of a gateway that answers every request with the same frame."""

    def __init__(self, frame: bytes) -> None:
        self._frame = frame

    def on_frame(self, frame: bytes) -> None:
        """Nobody listens yet."""

    def send(self, payload: bytes) -> None:
        asyncio.get_running_loop().call_soon(self.on_frame, self._frame)


async def test_no_rate_for_requests_that_a_gateway_refuses() -> None:
    clients: list[Any] = [Client(b'{"type":"error"}')]

    with pytest.raises(AssertionError):
        await bench_gateway._ping_pong(clients, b"{}", bench_gateway.RESPONSE, 0.01)


async def test_no_latency_for_requests_that_a_gateway_refuses(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(bench_gateway, "SECONDS", 0.7)
    refused: Any = Client(b'{"type":"error"}')
    served: Any = Client(bench_gateway.RESPONSE)

    with pytest.raises(AssertionError):
        await bench_gateway._latency_under_load([served], refused, b"{}", bench_gateway.RESPONSE)


def test_a_failed_answer_is_a_failed_cell() -> None:
    result = Result(bench=bench_dispatch.DISPATCH, rounds=1)
    _keep(result, "floor", "ok", {"value": 1.0, "extra": {}})
    _keep(result, "floor", "unknown", {"error": "AssertionError: wrong"})

    assert "| floor | 1 (×1.00) | failed | – |" in table(result)


@pytest.mark.parametrize(("module", "bench"), discover(), ids=lambda one: getattr(one, "name", ""))
def test_every_benchmark_checks_its_answer(module: str, bench: Bench) -> None:
    """`measure`, or something of its module or its contenders, asserts what came back."""
    tree = ast.parse(inspect.getsource(importlib.import_module(module)))
    checks = [node for node in ast.walk(tree) if isinstance(node, ast.Assert)]
    about_answers = [check for check in checks if "is not None" not in ast.unparse(check.test)]

    assert about_answers, f"{bench.name} prints a time whatever its contenders answer"


def test_a_terminal_that_prints_escape_sequences_is_right() -> None:
    bench_handle.check_output("\x1b[?2004l\r\n" + "\n".join(str(number) for number in range(200_000)), "200k lines", 0)


def test_what_a_project_handles_elsewhere_is_not_measured() -> None:
    assert lacks("dispatch", "peer:langchain:core", "badjson")
    assert not lacks("dispatch", "peer:langchain:core", "ok")
    assert not lacks("dispatch", "toolgate", "badjson")
