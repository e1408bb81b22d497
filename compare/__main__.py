"""`make compare`: the same faults and attacks against Toolgate and against other tool layers, counted.

Exit code 0: measured. 1: the control passed a case that it has to fail, or a contender could not be driven.
"""

from __future__ import annotations

import argparse
import dataclasses
import datetime
import json
import os
import platform
import sys
import time
from collections.abc import Sequence
from pathlib import Path
from typing import Any, TypeVar

from compare import alive
from compare.arena import Arena, Ended, Hung
from compare.case import Case, discover
from compare.contenders import CONTENDERS, Contender

T = TypeVar("T")
RESULTS = Path(__file__).parent / "results.json"
CONTROL = "naive"
FAULTS = (Hung, Ended, RuntimeError, OSError)
"""What may go wrong while a contender is driven."""


def main(arguments: Sequence[str] | None = None) -> int:
    """Run what was chosen, print it, and write it down."""
    cases = discover()
    parser = argparse.ArgumentParser(prog="python -m compare", description=__doc__)
    parser.add_argument("--only", help=f"comma-separated: {', '.join(case.name for case in cases)}")
    parser.add_argument("--contenders", help=f"comma-separated: {', '.join(one.module for one in CONTENDERS)}")
    parser.add_argument("--quick", action="store_true", help="few tries: shows that a case works, proves little")
    parser.add_argument(
        "--seconds", type=float, default=60.0, help="time limit of the race; others are multiples of it"
    )
    parser.add_argument("--json", type=Path, default=RESULTS, help="where the results are merged into")
    chosen = parser.parse_args(arguments)
    wanted_cases = _chosen(parser, chosen.only, {case.name: case for case in cases})
    wanted = _chosen(parser, chosen.contenders, {one.module: one for one in CONTENDERS})
    results = json.loads(chosen.json.read_text()) if chosen.json.exists() else {}
    bad = 0
    for contender in wanted:
        abilities = _abilities(contender)
        bad += abilities is None
        for case in wanted_cases if abilities is not None else []:
            found = measure(case, contender, abilities or [], quick=chosen.quick, seconds=chosen.seconds)
            results.setdefault(case.name, {})[contender.module] = found
            bad += found["status"] == "error" or control_passed(case, contender, found)
            print(f"{case.name:20} {contender.name:15} {cell(case, found):18} {' · '.join(found['detail'])[:300]}")
            sys.stdout.flush()
            chosen.json.write_text(json.dumps(results, indent=1, ensure_ascii=False) + "\n")
    return int(bad > 0)


def _abilities(contender: Contender) -> list[str] | None:
    """What a contender can do; None if it cannot be driven here."""
    if not contender.install():
        return None
    try:
        return alive.abilities(contender)
    except FAULTS as error:
        print(f"{contender.name}: {type(error).__name__}: {error}", file=sys.stderr)
        return None


def _chosen(parser: argparse.ArgumentParser, names: str | None, known: dict[str, T]) -> list[T]:
    wanted = names.split(",") if names else list(known)
    if unknown := sorted(set(wanted) - set(known)):
        parser.error(f"there is no {', '.join(unknown)}; there are {', '.join(known)}")
    return [value for name, value in known.items() if name in wanted]


def measure(case: Case, contender: Contender, abilities: list[str], *, quick: bool, seconds: float) -> dict[str, Any]:
    """Run one case against one contender; what it cannot do is `lacks`, what went wrong is `error`."""
    missing = [name for name in case.needs if name not in abilities]
    if missing or (case.any_of and not set(case.any_of) & set(abilities)):
        return {"status": "lacks", "detail": missing or list(case.any_of), "version": contender.version()}
    begin = time.monotonic()
    found: dict[str, Any] = {"status": "measured", "detail": []}
    with Arena(contender, quick=quick, seconds=seconds) as arena:
        try:
            outcome = case.run(arena)
            found |= dataclasses.asdict(outcome) | {"detail": list(outcome.detail)}
        except FAULTS as error:
            found |= {"status": "error", "detail": [f"{type(error).__name__}: {error}"[-600:]]}
    return found | {
        "version": contender.version(),
        "date": datetime.datetime.now(datetime.UTC).date().isoformat(),
        "quick": quick,
        "seconds": round(time.monotonic() - begin, 1),
        "machine": f"{platform.machine()}, {os.cpu_count()} cores, Linux {platform.release().partition('-')[0]}",
        "user": "root" if os.geteuid() == 0 else "an ordinary user",
    }


def control_passed(case: Case, contender: Contender, found: dict[str, Any]) -> bool:
    """Whether the control did well where it has to fail: then the case proves nothing here."""
    judged = contender.module == CONTROL and case.control_fails and found["status"] == "measured"
    passed = judged and found["bad"] < case.control_least
    if passed:
        print(f"{case.name}: the control did not fail, so this run proves nothing", file=sys.stderr)
    return passed


def cell(case: Case, found: dict[str, Any]) -> str:
    """A result as one cell of the table."""
    if found["status"] == "lacks":
        return "–"
    if found["status"] == "error":
        return "error"
    if found["of"] is None:
        return f"{found['bad']:,.0f} {case.unit}" + (", unfinished" if found.get("unfinished") else "")
    asked = f" ({found['asked']} asked)" if found.get("asked") else ""
    return f"{found['bad']:,} of {found['of']:,}{asked}"


if __name__ == "__main__":
    sys.exit(main())
