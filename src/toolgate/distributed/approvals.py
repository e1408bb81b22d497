"""Asking a person who may answer in days: the question is a row, and whoever plays the turn then finds the answer."""

from __future__ import annotations

import asyncio
import hashlib
from collections.abc import Callable
from typing import TYPE_CHECKING

from toolgate.distributed.retry import patiently
from toolgate.errors import StoreError, ToolgateError
from toolgate.log import logger
from toolgate.protocol.approval import Approval, ApprovalRequest
from toolgate.sessions import approvals
from toolgate.sessions.driver import Transaction
from toolgate.sessions.event_log import ANYONE, Pen, time_of

if TYPE_CHECKING:
    from toolgate.sessions import Database
    from toolgate.sessions.types import ApprovalRow, Lease

_LOOK = 1.0
"""Seconds after which the answer is looked for, even if nobody says that there is one."""


class DurableApprover:
    """The approver of a turn on a worker. A question that is open is not asked twice.

    After `park` seconds without an answer it calls `put_aside` and waits to be cancelled: the question stays open.
    """

    def __init__(
        self,
        db: Database,
        lease: Lease,
        turn_id: str,
        *,
        person: tuple[str, str] | None = None,
        park: float | None,
        timeout: float | None,
        put_aside: Callable[[], None],
    ) -> None:
        """`person` is the session and the turn in which the person looks, where that is a sub-agent's parent."""
        self._db = db
        self._lease = lease
        self._turn_id = turn_id
        self._session_id, self._asked_in = person or (lease.session_id, turn_id)
        self._park = park
        self._timeout = timeout
        self._put_aside = put_aside
        self.parked = False
        """Whether the turn was put aside: then being cancelled is not an answer."""

    async def decide(self, request: ApprovalRequest) -> Approval:
        """Ask, unless it was asked before, and wait for the first answer that counts."""
        row = await patiently(lambda: self._db.write(lambda tx: self._ask(tx, request)))
        try:
            return await self._answer(row)
        except asyncio.CancelledError:
            if not self.parked:
                await self._close(row.id, Approval(allowed=False, message="withdrawn: the call was cancelled"))
            raise

    def _ask(self, transaction: Transaction, request: ApprovalRequest) -> ApprovalRow:
        """The question, as it was asked by this process or by one before it."""
        identifier = self._identifier(transaction, request)
        row = approvals.get(transaction, identifier)
        if row is not None:
            return row
        lease = self._lease if self._session_id == self._lease.session_id else ANYONE
        pen = Pen(transaction, self._session_id, lease, turn_id=self._asked_in)
        deadline = None if self._timeout is None else time_of(transaction) + self._timeout
        known = {"id": identifier, "session_id": self._session_id, "deadline": deadline}
        approvals.ask(pen, request.model_copy(update=known))
        asked = approvals.get(transaction, identifier)
        assert asked is not None
        return asked

    def _identifier(self, transaction: Transaction, request: ApprovalRequest) -> str:
        """The same for the same call, whoever plays it: providers repeat ids, so its place among them counts, too."""
        sql = (
            "SELECT MIN(ordinal) FROM tool_calls WHERE session_id = ?1 AND turn_id = ?2 AND call_id = ?3 "
            "AND state = 'proposed'"
        )
        row = transaction.row(sql, self._lease.session_id, self._turn_id, request.call_id)
        ordinal = row[0] if row is not None else None
        if ordinal is None:
            return request.id
        return _named(self._lease.session_id, self._turn_id, request.call_id, str(ordinal), request.fingerprint)

    async def _answer(self, row: ApprovalRow) -> Approval:
        loop = asyncio.get_running_loop()
        began, overdue = loop.time(), False
        with self._db.feed.follow(self._session_id) as news:
            while True:
                news.clear()
                row, overdue = await self._current(row, overdue=overdue)
                if row.state != "pending":
                    break
                if overdue:
                    return await self._close(row.id, Approval(allowed=False, message="nobody answered in time"))
                if self._park is not None and loop.time() - began >= self._park:
                    await self._wait_to_be_cancelled()
                await _until(news, _LOOK)
        if overdue and row.state == "allowed":
            return Approval(allowed=False, message="the answer came after its time")
        return Approval(allowed=row.state == "allowed", message=row.message, remember=row.remember)

    async def _current(self, row: ApprovalRow, *, overdue: bool) -> tuple[ApprovalRow, bool]:
        """The question as it is now, and whether its time was over by then; as before, if the database is away."""

        def look(transaction: Transaction) -> tuple[ApprovalRow, bool]:
            late = self._timeout is not None and approvals.waited(transaction, row.id) >= self._timeout
            return approvals.get(transaction, row.id) or row, late

        try:
            await self._db.driver.listen()
            return await self._db.read(look)
        except StoreError as error:
            logger("distributed").warning("answer_not_read", error=str(error))
            return row, overdue

    async def _wait_to_be_cancelled(self) -> None:
        self.parked = True
        self._put_aside()
        await asyncio.get_running_loop().create_future()

    async def _close(self, approval_id: str, answer: Approval) -> Approval:
        """Answer in the person's place, unless they were faster."""
        try:
            await self._db.write(lambda tx: approvals.decide(tx, approval_id, answer))
            row = await self._db.read(lambda tx: approvals.get(tx, approval_id))
        except ToolgateError as error:
            logger("distributed").warning("question_not_closed", error=type(error).__name__)
            return answer
        if row is None or row.state == "pending":
            return answer
        return Approval(allowed=row.state == "allowed", message=row.message, remember=row.remember)


def _named(*parts: str) -> str:
    return hashlib.sha256("\0".join(parts).encode("utf-8", "replace")).hexdigest()[:32]


def allowed_before(transaction: Transaction, session_id: str, turn_id: str, agent: str, asked_in: str) -> list[str]:
    """What a sub-agent was allowed for the rest of its turn, by whoever played it before: its questions are in its
    parent's session, and the name of each says which call of which child it was about.
    """
    rows = transaction.rows(
        "SELECT a.id, a.call_id, c.ordinal, a.fingerprint FROM approvals a JOIN tool_calls c "
        "ON c.session_id = ?1 AND c.turn_id = ?2 AND c.call_id = a.call_id "
        "WHERE a.session_id = ?3 AND a.state = 'allowed' AND a.remember = 1 AND a.agent = ?4",
        *(session_id, turn_id, asked_in, agent),
    )
    return [
        fingerprint
        for name, call_id, ordinal, fingerprint in rows
        if name == _named(session_id, turn_id, call_id, str(ordinal), fingerprint)
    ]


async def _until(news: asyncio.Event, seconds: float) -> None:
    try:
        async with asyncio.timeout(seconds):
            await news.wait()
    except TimeoutError:
        pass  # then it is time to look
