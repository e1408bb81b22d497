"""The measured process: `python -m benchmarks.worker MODULE BENCH CONTENDER`; a case a line in, a result a line out."""

import asyncio
import importlib
import json
import os
import sys
import traceback
from typing import Any

from benchmarks.bench import Bench


def find(module: str, name: str) -> Bench:
    """The benchmark of that name in that module."""
    return next(
        value
        for value in vars(importlib.import_module(module)).values()
        if isinstance(value, Bench) and value.name == name
    )


def implementation(bench: Bench, contender: str) -> Any:
    """A contender of the benchmark itself, or `peer:module` or `peer:module:variant`."""
    if not contender.startswith("peer:"):
        return bench.contenders[contender]
    _, module, *variant = contender.split(":")
    assert bench.role is not None
    found = getattr(importlib.import_module(f"benchmarks.peers.{module}"), bench.role)
    return found[variant[0]] if variant else found


async def serve(bench: Bench, contender: str, answers: Any) -> None:
    """Answer every case on stdin until it closes."""
    loop = asyncio.get_running_loop()
    state = await bench.setup(implementation(bench, contender))
    while line := await loop.run_in_executor(None, sys.stdin.readline):
        try:
            sample = await bench.measure(state, json.loads(line))
            answer: dict[str, Any] = {"value": sample.value, "extra": dict(sample.extra)}
        except Exception:  # noqa: BLE001 a contender may fail in any way; the table says so and the others go on
            answer = {"error": traceback.format_exc()[-800:]}
        answers.write(json.dumps(answer) + "\n")
        answers.flush()
    close = getattr(state, "close", None)
    if close is not None:
        await close()


def main() -> None:
    """Keep the protocol's stream to ourselves (contenders may print), then serve."""
    module, name, contender = sys.argv[1:]
    answers = os.fdopen(os.dup(1), "w")
    os.dup2(2, 1)
    sys.stdout = sys.stderr
    try:
        asyncio.run(serve(find(module, name), contender, answers))
    except Exception:  # noqa: BLE001 as above: the orchestrator shows why this contender could not start
        answers.write(json.dumps({"error": traceback.format_exc()[-800:]}) + "\n")
        answers.flush()


if __name__ == "__main__":
    main()
