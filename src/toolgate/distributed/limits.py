"""Limits per user and for all users, checked when a turn is submitted."""

from __future__ import annotations

from typing import TYPE_CHECKING

from toolgate.errors import SessionBusy
from toolgate.sessions.clock import NOW
from toolgate.sessions.driver import Transaction

if TYPE_CHECKING:
    from toolgate.distributed.options import ClusterOptions

_MINUTE, _DAY = 60, 86_400


class LimitReached(SessionBusy):
    """The queue is full, or this user has reached a limit; the message says which one and when to try again."""


def check(transaction: Transaction, user: str, workspace: str, options: ClusterOptions) -> None:
    """Raise `LimitReached` if a turn of this user cannot be accepted now; then nothing is written."""
    _check_worker(transaction, workspace, options.grace)
    _check_queue(transaction, options.queue_length)
    if options.turns_per_minute:
        _check_rate(transaction, user, options.turns_per_minute)
    if options.tokens_per_day:
        _check_budget(transaction, user, options.tokens_per_day)


def _check_worker(transaction: Transaction, workspace: str, grace: float) -> None:
    sql = (
        "SELECT 1 FROM workers WHERE jsonb_exists(CAST(workspaces AS jsonb), ?1) "
        f"AND (state <> 'gone' OR seen_at >= {NOW} - ?2) LIMIT 1"
    )
    if transaction.row(sql, workspace, grace) is None:
        raise LimitReached(
            f"No worker serves the workspace {workspace!r}; nothing was sent. "
            f"Start one with: toolgate worker --workspace {workspace}=PATH"
        )


def _check_queue(transaction: Transaction, limit: int) -> None:
    sql = "SELECT COUNT(*) FROM (SELECT 1 FROM dispatches WHERE state = 'queued' LIMIT ?1) waiting"
    row = transaction.row(sql, limit)
    if row is not None and row[0] >= limit:
        raise LimitReached(f"{limit} turns are waiting for a worker already; nothing was sent. Try again in a moment.")


def _check_rate(transaction: Transaction, user: str, limit: int) -> None:
    sql = (
        "SELECT COUNT(*) FROM (SELECT 1 FROM dispatches "
        f"WHERE user_name = ?1 AND submitted_at > {NOW} - {_MINUTE} AND agent = '' LIMIT ?2) latest"
    )
    row = transaction.row(sql, user, limit)
    if row is not None and row[0] >= limit:
        raise LimitReached(
            f"You have sent {limit} messages in the last minute; nothing was sent. Try again in a minute."
        )


def _check_budget(transaction: Transaction, user: str, limit: int) -> None:
    sql = (
        "SELECT COALESCE(SUM(t.input_tokens + t.output_tokens), 0) FROM dispatches d JOIN turns t ON t.id = d.turn_id "
        f"WHERE d.user_name = ?1 AND d.submitted_at > {NOW} - {_DAY}"
    )
    row = transaction.row(sql, user)
    if row is not None and row[0] >= limit:
        raise LimitReached(
            f"You have used the {limit} tokens of a day; nothing was sent. Try again tomorrow, or ask the operator."
        )
