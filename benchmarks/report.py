"""What a run looks like: a table with ratios, the targets with their verdicts, and one line of JSON."""

import datetime
import json
import os
import platform
from collections.abc import Iterator
from typing import Any

from benchmarks.bench import Target
from benchmarks.harness import Result


def table(result: Result) -> str:
    """Markdown, the fastest first."""
    bench = result.bench
    head = f"### {bench.name} ({bench.unit}, median of {result.rounds} rounds, × {bench.floor})"
    lines = [head, "", *([bench.note, ""] if bench.note else [])]
    lines += ["| contender | " + " | ".join(bench.cases) + " |", "|---" * (len(bench.cases) + 1) + "|"]
    for name in sorted(result.values, key=lambda name: result.median(name, bench.cases[0]) or float("inf")):
        lines.append(
            f"| {name.removeprefix('peer:')} | " + " | ".join(_cell(result, name, case) for case in bench.cases) + " |"
        )
    for (name, case), error in result.errors.items():
        lines.append(f"\n{name}, {case}: {error.strip().splitlines()[-1][:200]}")
    return "\n".join(lines)


def _cell(result: Result, name: str, case: str) -> str:
    value, ratio = result.median(name, case), result.ratio(name, case)
    if value is None:
        return "failed" if (name, case) in result.errors else "–"
    extras = "".join(f", {key} {number:.4g}" for key, number in result.extras[name][case].items())
    return f"{value:.4g}" + (f" (×{ratio:.2f})" if ratio is not None else "") + extras


def verdicts(result: Result) -> Iterator[tuple[str, bool]]:
    """Every target as a table row, and whether it was met."""
    for target in result.bench.targets:
        number = _judged(result, target)
        met = number is not None and number <= target.at_most
        what = f"{result.bench.name}: {target.contender}, {target.case}" + (f", {target.extra}" if target.extra else "")
        sign = "" if target.extra else "× "
        against = target.against or result.bench.floor
        unit = "" if target.extra else f" of {against}" + (f" ({target.against_case})" if target.against_case else "")
        shown = "not measured" if number is None else f"{sign}{number:.2f}"
        yield f"| {what} | {shown} | ≤ {sign}{target.at_most:g}{unit} | {'pass' if met else '**over**'} |", met


def _judged(result: Result, target: Target) -> float | None:
    if target.extra is None:
        return result.ratio(target.contender, target.case, target.against, target.against_case)
    return result.extras.get(target.contender, {}).get(target.case, {}).get(target.extra)


def as_json(results: list[Result]) -> str:
    """One line for programs."""
    document: dict[str, Any] = {}
    for result in results:
        document[result.bench.name] = {
            "where": f"Python {platform.python_version()}, {platform.machine()}, {os.cpu_count()} cores{_priority()}",
            "date": datetime.datetime.now(datetime.UTC).date().isoformat(),
            "load": os.getloadavg()[0],
            "unit": result.bench.unit,
            "floor": result.bench.floor,
            "references": list(result.bench.references),
            "rounds": result.rounds,
            "median": {
                name: {case: result.median(name, case) for case in cases} for name, cases in result.values.items()
            },
            "ratio": {
                name: {case: result.ratio(name, case) for case in cases} for name, cases in result.values.items()
            },
            "extra": result.extras,
            "failed": {name: error.strip().splitlines()[-1][:160] for (name, _), error in result.errors.items()},
            "targets": [row for row, _ in verdicts(result)],
        }
    return json.dumps(document)


def _priority() -> str:
    """What to say if the run went before all others on its machine (`chrt --fifo 1`)."""
    return "" if os.sched_getscheduler(0) == os.SCHED_OTHER else ", real-time priority"
