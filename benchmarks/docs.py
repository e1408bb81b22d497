"""Writes a run into the documentation: `python -m benchmarks … | python -m benchmarks.docs`.

The tables replace what is between two marks in `docs/benchmarks.md`; the bars go to `docs/images/bench-NAME.svg`.
"""

import json
import sys
from pathlib import Path
from typing import Any

from benchmarks import bars

PAGE = Path(__file__).parent.parent / "docs" / "benchmarks.md"
BEGIN, END = "<!-- results: made by benchmarks/docs.py -->", "<!-- end of results -->"


def main() -> None:
    """Read what the benchmarks printed, and write page and pictures."""
    lines = [line for line in sys.stdin if line.startswith("{")]
    document = json.loads(lines[-1])
    PAGE.write_text(replaced(PAGE.read_text(), section(document)))
    for name, result in results(document).items():
        picture = PAGE.parent / "images" / f"bench-{name}.svg"
        picture.write_text(bars.drawn(name, result["unit"], result["floor"], result["ratio"]))


def results(document: dict[str, Any]) -> dict[str, Any]:
    """The benchmarks of a run that measured anything."""
    return {name: value for name, value in document.items() if isinstance(value, dict) and value.get("ratio")}


def replaced(page: str, text: str) -> str:
    """The page with a new text between the marks."""
    before, _, rest = page.partition(BEGIN)
    _, found, after = rest.partition(END)
    if not found:
        raise SystemExit(f"docs/benchmarks.md needs the lines {BEGIN} and {END}.")
    return f"{before}{BEGIN}\n{text}{END}{after}"


def section(document: dict[str, Any]) -> str:
    """Where it was measured, then a table and a picture per benchmark, then the targets."""
    where = (
        f"Python {document['python']}, {document['machine']}, {document['cpus']} cores. "
        f"The load average was {document['load']:.1f} when the run ended.\n"
    )
    parts = [where]
    for name, result in results(document).items():
        parts.append(f"### {name} ({result['unit']}, median of {result['rounds']} rounds)\n")
        parts.append(_table(result))
        parts.append(f"![Bars of {name}, times {result['floor']}](images/bench-{name}.svg)\n")
    parts.append("### Targets\n\n| what | measured | target | |\n|---|---|---|---|")
    parts.append("\n".join(document["targets"]) + "\n")
    return "\n".join(parts)


def _table(result: dict[str, Any]) -> str:
    cases = list(dict.fromkeys(case for values in result["median"].values() for case in values))
    lines = ["| contender | " + " | ".join(cases) + " |", "|---" * (len(cases) + 1) + "|"]
    for contender, values in result["median"].items():
        cells = [_cell(result, contender, case, values.get(case)) for case in cases]
        lines.append(f"| {contender.removeprefix('peer:')} | " + " | ".join(cells) + " |")
    return "\n".join(lines) + "\n"


def _cell(result: dict[str, Any], contender: str, case: str, value: float | None) -> str:
    if value is None:
        return "–"
    ratio = result["ratio"][contender].get(case)
    extra = "".join(f", {key} {number:.4g}" for key, number in result["extra"][contender][case].items())
    return f"{value:.4g}" + (f" (×{ratio:.2f})" if ratio is not None else "") + extra


if __name__ == "__main__":
    main()
