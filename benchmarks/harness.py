"""Runs a benchmark: a worker process a contender, shuffled rounds, one worker busy at a time, medians."""

import contextlib
import json
import os
import random
import select
import statistics
import subprocess
import sys
import tempfile
import time
from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from benchmarks.bench import Bench
from benchmarks.peers import lacks

ROOT = Path(__file__).parent.parent
DATA = Path(os.environ.get("TOOLGATE_BENCH_DATA") or ROOT / "benchmarks" / ".data")
"""Test data; made once, kept."""
_SLOW = 20.0
"""Seconds after which a contender runs a case once only."""


@dataclass(kw_only=True)
class Result:
    """Everything that was measured in one benchmark."""

    bench: Bench
    rounds: int
    values: dict[str, dict[str, list[float]]] = field(default_factory=dict)
    extras: dict[str, dict[str, dict[str, float]]] = field(default_factory=dict)
    errors: dict[tuple[str, str], str] = field(default_factory=dict)

    def median(self, contender: str, case: str) -> float | None:
        """The middle of a contender's samples, or None."""
        samples = self.values.get(contender, {}).get(case)
        return statistics.median(samples) if samples else None

    def ratio(
        self, contender: str, case: str, against: str | None = None, against_case: str | None = None
    ) -> float | None:
        """A contender's median over the floor's."""
        mine = self.median(contender, case)
        floor = self.median(against or self.bench.floor, against_case or case)
        return mine / floor if mine is not None and floor else None


class Worker:
    """One contender's process."""

    def __init__(self, module: str, bench: Bench, contender: str, python: str) -> None:
        self._log = tempfile.TemporaryFile("w+")  # noqa: SIM115 lives as long as the worker
        environment = {name: value for name, value in os.environ.items() if name != "PYTHONDONTWRITEBYTECODE"}
        self._process = subprocess.Popen(
            [python, "-m", "benchmarks.worker", module, bench.name, contender],
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            stderr=self._log,
            cwd=ROOT,
            env=environment | QUIET,
            text=True,
        )

    def sample(self, case: str, timeout: float) -> dict[str, Any]:
        """Measure one case."""
        assert self._process.stdin is not None
        assert self._process.stdout is not None
        try:
            self._process.stdin.write(json.dumps(case) + "\n")
            self._process.stdin.flush()
        except BrokenPipeError:
            pass  # it ended; what it said is still there to read
        ready, _, _ = select.select([self._process.stdout], [], [], timeout)
        if not ready:
            self._process.kill()
            return {"error": f"no answer within {timeout:.0f} s"}
        line = self._process.stdout.readline()
        answer: dict[str, Any] = json.loads(line) if line else {"error": self._last_words()}
        return answer

    def close(self) -> None:
        """Let it end, or end it."""
        assert self._process.stdin is not None
        assert self._process.stdout is not None
        with contextlib.suppress(BrokenPipeError):  # it has ended already
            self._process.stdin.close()
        try:
            self._process.wait(20)
        except subprocess.TimeoutExpired:
            self._process.kill()
            self._process.wait()
        self._process.stdout.close()
        self._log.close()

    def _last_words(self) -> str:
        self._log.seek(0)
        return "the worker ended: " + self._log.read()[-800:]


QUIET = {
    "ANONYMIZED_TELEMETRY": "false",
    "HF_HUB_OFFLINE": "1",
    "LITELLM_LOCAL_MODEL_COST_MAP": "True",
    "OPENHANDS_SUPPRESS_BANNER": "1",
    "OTEL_SDK_DISABLED": "true",
}
"""Keeps peers from talking and from the network."""


def run(module: str, bench: Bench, contenders: Mapping[str, str], rounds: int) -> Result:
    """Measure; `contenders` maps a name to the interpreter that runs it."""
    result = Result(bench=bench, rounds=rounds)
    once: set[tuple[str, str]] = set()
    workers = {} if bench.fresh else {name: Worker(module, bench, name, python) for name, python in contenders.items()}
    try:
        for number in range(rounds):
            for case in bench.cases:
                for name in random.sample(list(contenders), len(contenders)):
                    if (name, case) in result.errors or (name, case) in once or lacks(bench.role or "", name, case):
                        continue
                    begin = time.perf_counter()
                    worker = workers.get(name) or Worker(module, bench, name, contenders[name])
                    _keep(result, name, case, worker.sample(case, bench.timeout))
                    if bench.fresh:
                        worker.close()
                    if time.perf_counter() - begin > _SLOW:
                        once.add((name, case))
            sys.stderr.write(f"\r{bench.name}: round {number + 1}/{rounds} ")
    finally:
        for worker in workers.values():
            worker.close()
        sys.stderr.write("\r\033[K" if sys.stderr.isatty() else "\n")
    return result


def _keep(result: Result, name: str, case: str, answer: dict[str, Any]) -> None:
    if "error" in answer:
        result.errors[name, case] = answer["error"]
        return
    result.values.setdefault(name, {}).setdefault(case, []).append(answer["value"])
    worst = result.extras.setdefault(name, {}).setdefault(case, {})
    for key, value in answer["extra"].items():
        worst[key] = max(value, worst.get(key, value))
