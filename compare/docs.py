"""Writes the results into the documentation: `python -m compare.docs` makes the tables of docs/reliability.md."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

from compare.__main__ import RESULTS, cell
from compare.case import Case, discover
from compare.contenders import CONTENDERS, Contender

PAGE = Path(__file__).resolve().parents[1] / "docs" / "reliability.md"
BEGIN, END = "<!-- results: made by compare/docs.py -->", "<!-- end of results -->"
OURS, CONTROL = "toolgate", "naive"
_MAX_NAMED = 6
ALIKE = 10.0
"""Amounts (megabytes) that differ by no more are alike: they were sampled."""

Results = dict[str, dict[str, dict[str, Any]]]
"""Case → contender → what was found."""


def main() -> None:
    """Read the results and write the page."""
    PAGE.write_text(replaced(PAGE.read_text(), section(json.loads(RESULTS.read_text()), discover())))


def replaced(page: str, text: str) -> str:
    """The page with a new text between the marks."""
    before, _, rest = page.partition(BEGIN)
    _, found, after = rest.partition(END)
    if not found:
        raise SystemExit(f"docs/reliability.md needs the lines {BEGIN} and {END}.")
    return f"{before}{BEGIN}\n{text}{END}{after}"


def section(results: Results, cases: list[Case]) -> str:
    """When and where it was measured, the table, who is better where, and every case by itself."""
    measured = [case for case in cases if case.name in results]
    parts = [_where(results), _table(results, measured), _better(results, measured), _contenders(results)]
    return "\n".join([*parts, *(_case(case, results[case.name]) for case in measured)])


def _where(results: Results) -> str:
    every = [found for row in results.values() for found in row.values() if "date" in found]
    dates = sorted({found["date"] for found in every})
    places = sorted({f"{found['machine']}, as {found['user']}" for found in every})
    quick = " Some cells are from a run with `--quick`." if any(found["quick"] for found in every) else ""
    return f"Measured {' and '.join(dict.fromkeys((dates[0], dates[-1])))}, {'; '.join(places)}.{quick}\n"


def _columns() -> list[Contender]:
    return sorted(CONTENDERS, key=lambda one: one.module == CONTROL)


def _table(results: Results, cases: list[Case]) -> str:
    names = [f"{one.name} (control)" if one.module == CONTROL else one.name for one in _columns()]
    lines = ["| counted, less is better | " + " | ".join(names) + " |", "|---" * (len(names) + 1) + "|"]
    for case in cases:
        row = results[case.name]
        cells = [_marked(case, row, one.module) for one in _columns()]
        lines.append(f"| {case.title} | " + " | ".join(cells) + " |")
    return "\n".join(lines) + "\n"


def _marked(case: Case, row: dict[str, dict[str, Any]], module: str) -> str:
    if module not in row:
        return "not run"
    text = cell(case, row[module])
    return f"**{text}**" if module in best(row) else text


def best(row: dict[str, dict[str, Any]]) -> list[str]:
    """The contenders with the least count; the control is none of them."""
    counts = {
        module: _share(found)
        for module, found in row.items()
        if found["status"] == "measured" and module != CONTROL and not found.get("unfinished")
    }
    amounts = any(found.get("of") is None for found in row.values() if found["status"] == "measured")
    least = min(counts.values(), default=0.0) + (ALIKE if amounts else 0)
    return [module for module, count in counts.items() if count <= least]


def _share(found: dict[str, Any]) -> float:
    """A count as a share of what was tried: a race ends after a time limit, so tries differ."""
    return float(found["bad"] / found["of"] if found["of"] else found["bad"])


def _better(results: Results, cases: list[Case]) -> str:
    """One sentence per row in which another contender is better than this project, or as good."""
    names = {one.module: one.name for one in CONTENDERS}
    lines = ["Where another is better than Toolgate, or as good:\n"]
    for case in cases:
        found = best(results[case.name])
        others = ", ".join(names[module] for module in found if module != OURS)
        if others:
            lines.append(f"- {case.title}: {'as good' if OURS in found else '**better**'}: {others}.")
    return "\n".join(lines) + "\n"


def _contenders(results: Results) -> str:
    versions = {module: found["version"] for row in results.values() for module, found in row.items()}
    lines = ["### Versions and settings\n", "| contender | version | settings |", "|---|---|---|"]
    lines += [
        f"| {one.name} | {versions[one.module]} | {one.settings} |" for one in _columns() if one.module in versions
    ]
    return "\n".join(lines) + "\n"


def _case(case: Case, row: dict[str, dict[str, Any]]) -> str:
    lines = [f"### {case.title}\n", f"{case.counts}\n"]
    for one in _columns():
        found = row.get(one.module)
        if found is not None and found["status"] == "lacks":
            lines.append(f"- {one.name}: –, there is no tool or setting for: {', '.join(found['detail'])}.")
        elif found is not None:
            lines.append(f"- {one.name}: {cell(case, found)}{_detail(found['detail'])}")
    return "\n".join(lines) + "\n"


def _detail(detail: list[str]) -> str:
    """The first of them; commands and paths stand in backquotes only where they need it."""
    shown = [entry.replace("|", "\\|") for entry in detail[:_MAX_NAMED]]
    shown = [f"`{entry}`" if any(sign in entry for sign in "*<>{$`") else entry for entry in shown]
    more = [f"and {len(detail) - _MAX_NAMED} more"] if len(detail) > _MAX_NAMED else []
    return ": " + "; ".join([*shown, *more]) + "." if detail else "."


if __name__ == "__main__":
    main()
