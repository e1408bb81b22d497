"""Removes sessions that were not used for a long time. Without `--yes` they are only shown."""

from __future__ import annotations

import re
import sys
import time
from typing import TYPE_CHECKING

from toolgate.cli.errors import UsageError
from toolgate.cli.sessions.find import short
from toolgate.cli.sessions.listing import age, canonical_project
from toolgate.cli.style import width
from toolgate.cli.visible import visible
from toolgate.language.translate import translate

if TYPE_CHECKING:
    import argparse

    from toolgate.sessions import SessionManager

_AGE = re.compile(r"([0-9]{1,5})([dwy])")
_DAYS = {"d": 1, "w": 7, "y": 365}
_DAY = 86_400
_MAX_SHOWN = 20


def parse_age(text: str) -> float:
    """Convert `90d`, `12w` or `1y` to seconds; at least one day."""
    found = _AGE.fullmatch(text.strip())
    if found is None or int(found[1]) == 0:
        raise UsageError(
            translate(
                "--older-than takes a number of days, weeks or years, such as 90d, 12w or 1y; not {text}",
                text=repr(text),
            )
        )
    return float(int(found[1]) * _DAYS[found[2]] * _DAY)


async def prune(sessions: SessionManager, args: argparse.Namespace) -> None:
    """Show the old sessions; with `--yes`, remove them."""
    before = time.time() - parse_age(args.older_than)
    found = await sessions.unused(before, project=canonical_project(args.project))
    if not found:
        sys.stdout.write(translate("There are no sessions that old.") + "\n")
        return
    await _show(sessions, found)
    if not args.yes:
        words = translate(
            "{sessions} would be removed permanently. Use --yes to remove.", sessions=_counted(len(found))
        )
        sys.stdout.write(words + "\n")
        return
    removed = 0
    for session_id in found:
        removed += await sessions.remove(session_id, before)
    left = len(found) - removed
    in_use = translate("; {left} in use", left=left) if left else ""
    sys.stdout.write(translate("{sessions} removed{in_use}.", sessions=_counted(removed), in_use=in_use) + "\n")


async def _show(sessions: SessionManager, found: list[str]) -> None:
    now = time.time()
    for session_id in found[:_MAX_SHOWN]:
        session = await sessions.get(session_id)
        title = visible(session.title, keep="")[:60] or "–"
        since = age(now - session.updated_at)
        sys.stdout.write(f"{short(session.id)}  {' ' * (6 - width(since))}{since}  {title}\n")
    if len(found) > _MAX_SHOWN:
        sys.stdout.write(translate("… and {count} more", count=len(found) - _MAX_SHOWN) + "\n")


def _counted(number: int) -> str:
    return translate("1 session") if number == 1 else translate("{number} sessions", number=number)
