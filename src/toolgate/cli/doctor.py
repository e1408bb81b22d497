"""Check what Toolgate needs on this machine, and say how to get what is missing.

Exit code 1 if something essential is broken. Missing parts have a fallback and only give a warning.
"""

import argparse
import json
import sys

from toolgate.cli.parser import add_json, add_root
from toolgate.cli.style import Style, columns
from toolgate.cli.visible import for_terminal, visible
from toolgate.language.translate import translate, use

_MARKS = {"ok": ("ok", "green"), "missing": ("--", "yellow"), "damaged": ("!!", "yellow"), "broken": ("!!", "red")}


def configure(parser: argparse.ArgumentParser) -> None:
    """Add the command's arguments."""
    add_root(parser)
    add_json(parser, translate("the findings"))


def run(args: argparse.Namespace) -> int:
    """Run and show all checks."""
    from toolgate.cli.checks import run_checks

    if args.json:
        use("en")  # programs read it
    found = run_checks(args.root)
    broken = sum(check.state == "broken" for check in found)
    if args.json:
        document = [{"name": c.name, "state": c.state, "finding": c.finding, "advice": c.advice} for c in found]
        sys.stdout.write(for_terminal(json.dumps(document, ensure_ascii=False, indent=2)) + "\n")
        return int(broken > 0)
    paint = Style(sys.stdout)
    rows = columns([[_MARKS[check.state][0], check.name, visible(check.finding, keep="")] for check in found])
    for check, (mark, name, finding) in zip(found, rows, strict=True):
        sys.stdout.write(f"{paint(mark, 'bold', _MARKS[check.state][1])}  {name}  {finding}\n")
        if check.advice:
            sys.stdout.write(f"{' ' * (len(name) + 6)}{paint(visible(check.advice, keep=''), 'cyan')}\n")
    missing, damaged = (sum(check.state == state for check in found) for state in ("missing", "damaged"))
    colour = "yellow" if damaged else "green"
    if broken:
        colour = "red"
    sys.stdout.write("\n" + paint(_verdict(broken, damaged, missing), "bold", colour) + "\n")
    return int(broken > 0)


def _verdict(broken: int, damaged: int, missing: int) -> str:
    if broken:
        return translate("{broken} broken: Toolgate cannot work properly here until that is repaired.", broken=broken)
    if damaged:
        return translate("Everything essential works, but data was lost: see the lines that begin with !!.")
    if missing:
        if missing == 1:
            return translate("Everything essential works; 1 optional part is missing.")
        return translate("Everything essential works; {missing} optional parts are missing.", missing=missing)
    return translate("Everything is available.")
