"""Writes a run of growth into the documentation, everything compared with its own smallest case.

python -m benchmarks --only growth | python -m benchmarks.growth_docs
"""

import json
import sys
from typing import Any

from benchmarks import bars
from benchmarks.docs import PAGE, results

NAME = "growth"
BEGIN, END = "<!-- growth: made by benchmarks/growth_docs.py -->", "<!-- end of growth -->"


def main() -> None:
    """Read what the benchmarks printed, and write the section and its picture."""
    line = [line for line in sys.stdin if line.startswith("{")][-1]
    measured = {name: one for name, one in results(json.loads(line)).items() if name.startswith(f"{NAME} ")}
    before, _, rest = PAGE.read_text().partition(BEGIN)
    _, found, after = rest.partition(END)
    if not found:
        raise SystemExit(f"docs/benchmarks.md needs the lines {BEGIN} and {END}.")
    PAGE.write_text(f"{before}{BEGIN}\n{section(measured)}{END}{after}")
    unit = next(iter(measured.values()))["unit"]
    picture = bars.drawn(NAME, unit, "the smallest case", {"toolgate": ratios(measured)})
    (PAGE.parent / "images" / "bench-growth.svg").write_text(picture)


def ratios(measured: dict[str, Any]) -> dict[str, float | None]:
    """Case → times the smallest case of its kind."""
    found: dict[str, float | None] = {}
    for result in measured.values():
        values = result["median"]["toolgate"]
        first = next(iter(values.values()))
        found |= {case: value / first for case, value in values.items()}
    return found


def section(measured: dict[str, Any]) -> str:
    """A table of what every case costs, where it was measured, and the picture."""
    rows = ["| | smallest | middle | largest | |", "|---|---|---|---|---|"]
    times = ratios(measured)
    for name, result in measured.items():
        values = result["median"]["toolgate"]
        cells = [f"{case}: {value:.1f} ms (×{times[case]:.2f})" for case, value in values.items()]
        verdict = result["targets"][-1].rstrip("| ").rpartition("|")[2].strip()
        rows.append(f"| {name.removeprefix(NAME).strip()} | {' | '.join(cells)} | {verdict} |")
    last = next(reversed(measured.values()))
    where = f"{last['where']}, {last['date']}, load average {last['load']:.1f}."
    return "\n".join([*rows, "", where, "", "![Growth, times the smallest case](images/bench-growth.svg)", ""])


if __name__ == "__main__":
    main()
