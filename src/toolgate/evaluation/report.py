"""The results of runs, and the report about all of them as JSON and as Markdown."""

from __future__ import annotations

import json
from collections.abc import Sequence
from dataclasses import asdict, dataclass, field
from typing import Any


@dataclass(frozen=True, slots=True, kw_only=True)
class CheckResult:
    """How one check ended."""

    check: str
    passed: bool
    detail: str = ""
    """Why it did not pass."""


@dataclass(frozen=True, slots=True, kw_only=True)
class RunResult:
    """How one run of a task ended."""

    task: str
    run: int
    """Its number, from 1."""
    seconds: float
    calls: int = 0
    failed_calls: int = 0
    input_tokens: int = 0
    output_tokens: int = 0
    error: str = ""
    """Why the turn or the calls did not end; the checks were made nevertheless."""
    checks: tuple[CheckResult, ...] = ()

    @property
    def passed(self) -> bool:
        """Whether it ended and every check passed."""
        return not self.error and all(check.passed for check in self.checks)

    def problems(self) -> list[str]:
        """What went wrong, one line each."""
        failed = [f"{check.check}: {check.detail}" for check in self.checks if not check.passed]
        return ([self.error] if self.error else []) + failed


@dataclass(frozen=True, slots=True, kw_only=True)
class Report:
    """All runs."""

    model: str
    runs: Sequence[RunResult] = field(default_factory=tuple)

    @property
    def passed(self) -> bool:
        """Whether every run passed."""
        return all(run.passed for run in self.runs)

    def rows(self) -> list[list[str]]:
        """One row per task: name, passed of all runs, mean seconds, calls, failed calls, tokens."""
        rows = []
        for name in dict.fromkeys(run.task for run in self.runs):
            runs = [run for run in self.runs if run.task == name]
            count = len(runs)
            rows.append(
                [
                    name,
                    f"{sum(run.passed for run in runs)}/{count}",
                    f"{sum(run.seconds for run in runs) / count:.1f}",
                    f"{sum(run.calls for run in runs) / count:.1f}",
                    str(sum(run.failed_calls for run in runs)),
                    str(sum(run.input_tokens + run.output_tokens for run in runs)),
                ]
            )
        return rows

    def to_json(self) -> str:
        """Everything, for programs."""
        runs: list[dict[str, Any]] = [{**asdict(run), "passed": run.passed} for run in self.runs]
        total = {"runs": len(runs), "passed": sum(run.passed for run in self.runs)}
        return json.dumps({"model": self.model, **total, "results": runs}, ensure_ascii=False, indent=2) + "\n"

    def to_markdown(self) -> str:
        """A table of the tasks, and what went wrong."""
        passed, count = sum(run.passed for run in self.runs), len(self.runs)
        lines = ["# Evaluation", "", f"Model: `{self.model}`. {passed} of {count} runs passed.", ""]
        lines += [f"| {' | '.join(HEADINGS)} |", f"|{'---|' * len(HEADINGS)}"]
        lines += [f"| {' | '.join(_cell(cell) for cell in row)} |" for row in self.rows()]
        failed = [run for run in self.runs if not run.passed]
        if failed:
            lines += ["", "## What went wrong", ""]
            lines += [f"- {_cell(run.task)}, run {run.run}: {_cell(text)}" for run in failed for text in run.problems()]
        return "\n".join(lines) + "\n"


HEADINGS = ["task", "passed", "seconds", "calls", "failed calls", "tokens"]


def _cell(text: str) -> str:
    return " ".join(text.split()).replace("|", "\\|")[:300]
