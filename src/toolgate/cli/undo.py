"""Undo what calls changed in the project's files: the last call, turn or session, as a whole or not at all.

A file that has changed since is never touched: then nothing is undone, and the file is named.
"""

import argparse
import json
import sys
from typing import TYPE_CHECKING

from toolgate.cli.parser import add_json, add_root
from toolgate.cli.style import Style, columns
from toolgate.cli.visible import for_terminal, visible
from toolgate.language.translate import translate

if TYPE_CHECKING:
    from toolgate.workspace import Workspace
    from toolgate.workspace.journal_entries import JournalEntry


def configure(parser: argparse.ArgumentParser) -> None:
    """Add the command's arguments."""
    which = parser.add_mutually_exclusive_group()
    for last in ("call", "turn", "session"):
        note = " (the default)" if last == "call" else ""
        which.add_argument(
            f"--{last}",
            dest="last",
            action="store_const",
            const=last,
            help=translate("undo the last {last}{note}", last=last, note=note),
        )
    which.add_argument("--list", action="store_true", help=translate("only show what can be undone, newest first"))
    add_root(parser)
    add_json(parser, translate("what was done"))


def run(args: argparse.Namespace) -> int:
    """List or undo."""
    from toolgate.settings import Settings
    from toolgate.workspace import Workspace

    workspace = Workspace(args.root or Settings().workspace.root)
    try:
        return _list(workspace, as_json=args.json) if args.list else _undo(workspace, args)
    finally:
        workspace.close()


def _undo(workspace: "Workspace", args: argparse.Namespace) -> int:
    from toolgate.errors import UndoRefused
    from toolgate.workspace.undo import undo

    try:
        undone = undo(workspace, args.last or "call")
    except UndoRefused as refused:
        sys.stderr.write(f"toolgate undo: {visible(str(refused), keep='')}\n")
        return 1
    if args.json:
        sys.stdout.write(
            for_terminal(json.dumps([{"path": one.path, "action": one.action} for one in undone], ensure_ascii=False))
            + "\n"
        )
        return 0
    if not undone:
        sys.stdout.write(f"{translate('There is nothing to undo.')}\n")
    for one in undone:
        sys.stdout.write(f"{one.action}  {visible(one.path, keep='')}\n")
    return 0


def _list(workspace: "Workspace", *, as_json: bool) -> int:
    from toolgate.workspace import Stop

    with workspace.journal.open(Stop()) as journal:
        entries = list(reversed(journal.entries()[0]))
    if as_json:
        sys.stdout.write(for_terminal(json.dumps([_document(entry) for entry in entries], ensure_ascii=False)) + "\n")
        return 0
    if not entries:
        sys.stdout.write(f"{translate('There is nothing to undo.')}\n")
        return 0
    paint = Style(sys.stdout)
    rows = [["WHEN", "CALL", "TOOL", "WHAT", "PATH"], *(_row(entry) for entry in entries)]
    for number, row in enumerate(columns(rows)):
        line = "  ".join(row)
        sys.stdout.write((line if number else paint(line, "bold")) + "\n")
    return 0


def _row(entry: "JournalEntry") -> list[str]:
    from datetime import datetime

    when = datetime.fromtimestamp(entry.time).astimezone().strftime("%Y-%m-%d %H:%M:%S")
    what = "changed" if entry.before else "created"
    if entry.after is None:
        what = "removed"
    names = [visible(name, keep="") or "-" for name in (entry.origin.call_id, entry.origin.tool)]
    return [when, *names, what, visible(entry.path, keep="")]


def _document(entry: "JournalEntry") -> dict[str, object]:
    origin = entry.origin
    where = {"session_id": origin.session_id, "turn_id": origin.turn_id, "call_id": origin.call_id}
    return {"time": entry.time, "path": entry.path, "created": entry.before is None, **where}
