"""Writes a run into the documentation: `python -m benchmarks … | python -m benchmarks.docs`.

What was measured is merged into `benchmarks/results.json`, one benchmark at a time, so that some can be run again. The
tables replace what is between two marks in `docs/benchmarks.md`; the bars go to `docs/images/bench-NAME.svg`.
"""

import json
import sys
from pathlib import Path
from typing import Any

from benchmarks import bars
from benchmarks.peers.install import PEERS

PAGE = Path(__file__).parent.parent / "docs" / "benchmarks.md"
RESULTS = Path(__file__).parent / "results.json"
PROCESSOR = "cpu ms"
"""The extra number that holds processor time."""
BEGIN, END = "<!-- results: made by benchmarks/docs.py -->", "<!-- end of results -->"


def main() -> None:
    """Read what the benchmarks printed, and write results, page and pictures."""
    lines = [line for line in sys.stdin if line.startswith("{")]
    known = json.loads(RESULTS.read_text()) if RESULTS.exists() else {}
    document = known | results(json.loads(lines[-1]))
    RESULTS.write_text(json.dumps(document, indent=1, ensure_ascii=False) + "\n")
    PAGE.write_text(replaced(PAGE.read_text(), section(document)))
    for name, result in document.items():
        picture = bars.drawn(name, result["unit"], result["floor"], drawn_ratios(result), result["references"])
        (PAGE.parent / "images" / f"bench-{name}.svg").write_text(picture)


def results(document: dict[str, Any]) -> dict[str, Any]:
    """The benchmarks of a run that measured anything."""
    return {name: value for name, value in document.items() if value.get("ratio")}


def drawn_ratios(result: dict[str, Any]) -> bars.Ratios:
    """Ratios of processor time where a case has it, because a busy machine does not change them; else of the clock.

    Nobody kept a run with real-time priority waiting, so it is drawn by the clock.
    """
    if "real-time" in result["where"]:
        ratios: bars.Ratios = result["ratio"]
        return ratios
    drawn: bars.Ratios = {}
    for contender, cases in result["ratio"].items():
        drawn[contender] = {}
        for case, ratio in cases.items():
            computed = _processor_ratio(result, contender, case)
            drawn[contender][f"{case} (processor time)" if computed else case] = computed or ratio
    return drawn


def _processor_ratio(result: dict[str, Any], contender: str, case: str) -> float | None:
    used, floor = (result["extra"].get(one, {}).get(case, {}).get(PROCESSOR) for one in (contender, result["floor"]))
    return float(used / floor) if used and floor else None


def replaced(page: str, text: str) -> str:
    """The page with a new text between the marks."""
    before, _, rest = page.partition(BEGIN)
    _, found, after = rest.partition(END)
    if not found:
        raise SystemExit(f"docs/benchmarks.md needs the lines {BEGIN} and {END}.")
    return f"{before}{BEGIN}\n{text}{END}{after}"


def section(document: dict[str, Any]) -> str:
    """A table and a picture per benchmark, where it was measured, then the versions of the others, then the targets."""
    parts = []
    for name, result in sorted(document.items()):
        parts.append(f"### {name} ({result['unit']}, median of {result['rounds']} rounds)\n")
        parts.append(_table(result))
        parts += [f"{_name(peer)} failed: {why}\n" for peer, why in result["failed"].items()]
        parts.append(f"{result['where']}, {result['date']}, load average {result['load']:.1f}.\n")
        parts.append(f"![Bars of {name}, times {result['floor']}](images/bench-{name}.svg)\n")
    if peers := _versions(document):
        parts.append(f"### Versions of the other projects\n\n{peers}\n")
    parts.append("### Targets\n\n| what | measured | target | |\n|---|---|---|---|")
    parts.append("\n".join(row for _, result in sorted(document.items()) for row in result["targets"]) + "\n")
    return "\n".join(parts)


def _versions(document: dict[str, Any]) -> str:
    """The packages of every project that was measured."""
    names = {_name(peer).partition(":")[0] for result in document.values() for peer in result["ratio"] if _is(peer)}
    return "\n".join(f"- {name}: {', '.join(PEERS[name].packages)}" for name in sorted(names))


def _is(contender: str) -> bool:
    return contender.startswith("peer:")


def _name(contender: str) -> str:
    return contender.removeprefix("peer:")


def _table(result: dict[str, Any]) -> str:
    """Contenders in the order of their first case, the fastest first."""
    cases = list(dict.fromkeys(case for values in result["median"].values() for case in values))
    lines = ["| contender | " + " | ".join(cases) + " |", "|---" * (len(cases) + 1) + "|"]
    first = cases[0]
    for contender, values in sorted(result["median"].items(), key=lambda item: item[1].get(first) or float("inf")):
        cells = [_cell(result, contender, case, values.get(case)) for case in cases]
        lines.append(f"| {_name(contender)} | " + " | ".join(cells) + " |")
    return "\n".join(lines) + "\n"


def _cell(result: dict[str, Any], contender: str, case: str, value: float | None) -> str:
    if value is None:
        return "–"
    ratio = result["ratio"][contender].get(case)
    computed = _processor_ratio(result, contender, case)
    extra = "".join(
        f", {key} {number:.4g}" + (f" (×{computed:.2f})" if key == PROCESSOR and computed else "")
        for key, number in result["extra"][contender][case].items()
    )
    return f"{value:.4g}" + (f" (×{ratio:.2f})" if ratio is not None else "") + extra


if __name__ == "__main__":
    main()
