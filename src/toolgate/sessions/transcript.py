"""Messages: how they are written, and how they are read so that a provider accepts them."""

from __future__ import annotations

import json
from collections import Counter
from collections.abc import Iterable, Iterator, Mapping
from typing import Any, Final, NamedTuple

from toolgate.errors import MessageTooLarge
from toolgate.protocol.calls import ToolCall
from toolgate.protocol.content import StoredImage
from toolgate.protocol.unvalidated import trusted
from toolgate.sessions.driver import Row, Transaction
from toolgate.sessions.event_log import EventWriter, as_json, clean, message_json
from toolgate.sessions.schema import SPAN
from toolgate.sessions.types import ROLES, Message

MAX_MESSAGE_BYTES: Final = 1024 * 1024
"""Bytes of a message."""
NO_RESULT: Final = (
    "ERROR: This call has no result: it was interrupted. Nobody knows how far it got. "
    "Check what it has changed before you repeat it."
)
"""The answer to a call that has no stored result."""

INSERT: Final = (
    "INSERT INTO messages (id, session_id, seq, turn_id, role, content, tool_calls, tool_call_id, created_at, "
    "images) VALUES (?1, ?2, ?3, ?4, ?5, ?6, ?7, ?8, ?9, ?10)"
)
_MESSAGES = (
    "SELECT m.role, m.content, m.tool_calls, m.tool_call_id, e.place, m.turn_id, m.images "
    "FROM events e JOIN messages m ON m.id = e.id "
)
_LAST_PLACE = f"(SELECT number * {SPAN} + {SPAN - 1} FROM sessions WHERE id = ?1)"
_OF_SESSION = (
    f"{_MESSAGES}WHERE e.place BETWEEN (SELECT number * {SPAN} FROM sessions WHERE id = ?1) AND {_LAST_PLACE} "
    "AND m.rewound_by IS NULL"
)
_TAIL = (  # with two lower bounds, SQLite would begin at the first message of the session
    f"{_MESSAGES}WHERE e.place BETWEEN ?2 AND {_LAST_PLACE} AND m.session_id = ?1 AND m.rewound_by IS NULL "
    "ORDER BY e.place"
)


class StoredMessage(NamedTuple):
    """A message with its place in the log of all sessions and the turn that it belongs to."""

    place: int
    turn_id: str | None
    message: Message


def new_message(
    role: str,
    content: str | None,
    tool_calls: Iterable[ToolCall | Mapping[str, Any]] | None,
    tool_call_id: str | None,
    images: tuple[StoredImage, ...] = (),
) -> Message:
    """Check the parts of a message and return it as it may be stored. Raises `ValueError` and `MessageTooLarge`."""
    if role not in ROLES:
        raise ValueError(f"role must be one of {', '.join(sorted(ROLES))}, not {role!r}")
    text = clean(content or "")
    if len(text) > MAX_MESSAGE_BYTES // 4 and len(text.encode()) > MAX_MESSAGE_BYTES:
        raise MessageTooLarge(
            f"A message holds at most {MAX_MESSAGE_BYTES} bytes; this one has more. Send less, or a file."
        )
    if role == "tool" and not tool_call_id:
        raise ValueError("a tool message needs the tool_call_id that it answers")
    if role != "tool" and tool_call_id is not None:
        raise ValueError("only a tool message has a tool_call_id")
    calls = tuple(_call(call) for call in tool_calls or ())
    if calls and role != "assistant":
        raise ValueError("only an assistant message has tool_calls")
    identifier = None if tool_call_id is None else clean(tool_call_id)
    if images and role not in ("tool", "user"):
        raise ValueError("only messages of the user and of tools have images")
    fields = {"role": role, "content": text, "tool_calls": calls, "tool_call_id": identifier, "images": images}
    return trusted(Message, fields)


def checked(message: Message) -> Message:
    """The same message, in a form that may be stored."""
    return new_message(message.role, message.content, message.tool_calls, message.tool_call_id, message.images)


def _call(call: ToolCall | Mapping[str, Any]) -> ToolCall:
    """A call in our form or a provider's, with text that can be stored."""
    if isinstance(call, ToolCall):
        values: tuple[Any, ...] = (call.id, call.name, call.arguments)
    else:
        function = call.get("function", call)
        values = (call["id"], function["name"], function.get("arguments", ""))
    identifier, name, arguments = values
    text = arguments if isinstance(arguments, str) else as_json(dict(arguments or {}))
    return ToolCall(id=clean(identifier), name=clean(name), arguments=clean(text))


def write(writer: EventWriter, message: Message) -> int:
    """Write a message to the log and to its projection; returns its number."""
    calls = [call.__dict__ for call in message.tool_calls]
    identifier, seq = writer.event("message", _payload(message, calls))
    writer.transaction.run(
        INSERT,
        identifier,
        writer.session_id,
        seq,
        writer.turn_id,
        message.role,
        message.content,
        as_json(calls) if calls else None,
        message.tool_call_id,
        writer.now,
        _images_as_json(message),
    )
    return seq


def _images_as_json(message: Message) -> str | None:
    return as_json([image.model_dump() for image in message.images]) if message.images else None


def _payload(message: Message, calls: list[dict[str, Any]]) -> str:
    if not calls and message.tool_call_id is None and not message.images:
        return message_json(message.role, message.content)
    payload: dict[str, Any] = {"role": message.role, "content": message.content}
    if calls:
        payload["tool_calls"] = calls
    if message.tool_call_id is not None:
        payload["tool_call_id"] = message.tool_call_id
    if message.images:
        payload["images"] = [image.model_dump() for image in message.images]
    return as_json(payload)


def stored(transaction: Transaction, session_id: str) -> list[Message]:
    """The stored messages of a session, unchanged."""
    return [_message(row) for row in transaction.rows(f"{_OF_SESSION} ORDER BY e.place", session_id)]


def stored_from(transaction: Transaction, session_id: str, place: int) -> list[StoredMessage]:
    """The stored messages of a session from a place in the log on."""
    rows = (
        transaction.rows(_TAIL, session_id, place)
        if place
        else transaction.rows(f"{_OF_SESSION} ORDER BY e.place", session_id)
    )
    return [StoredMessage(row[4], row[5], _message(row)) for row in rows]


def shown(transaction: Transaction, session_id: str) -> list[Message]:
    """The messages that people see: those of the user and the assistant."""
    sql = f"{_OF_SESSION} AND m.role IN ('user', 'assistant') ORDER BY e.place"
    return [_message(row) for row in transaction.rows(sql, session_id) if row[1].strip() or row[6] is not None]


def _message(row: Row) -> Message:
    role, content, calls, call_id, images = *row[:4], row[6]
    return trusted(
        Message,
        {
            "role": role,
            "content": content,
            "tool_calls": tuple(ToolCall(**call) for call in json.loads(calls)) if calls is not None else (),
            "tool_call_id": call_id,
            "images": images_of(images),
        },
    )


def images_of(column: str | None) -> tuple[StoredImage, ...]:
    """The pictures that a message names, from their column."""
    return () if column is None else tuple(StoredImage(**image) for image in json.loads(column))


def valid(messages: list[Message]) -> list[Message]:
    """The messages in a form that every provider accepts.

    Every call is answered exactly once, right after the message that made it. A call without an answer gets an error,
    and an answer without a call is left out.
    """
    if _is_valid(messages):
        return messages
    ordered: list[Message] = []
    for message, given, missing in _with_answers(messages):
        ordered += [message, *given, *(unanswered(call_id) for call_id in missing)]
    return ordered


def _is_valid(messages: list[Message]) -> bool:
    """Whether every call is answered right after the message that made it, in order, as it nearly always is."""
    waiting: Iterator[ToolCall] = iter(())
    for message in messages:
        expected = next(waiting, None)
        if message.tool_call_id != (None if expected is None else expected.id):
            return False
        if message.tool_calls:
            waiting = iter(message.tool_calls)
    return next(waiting, None) is None


def open_calls(messages: list[Message]) -> list[str]:
    """The ids of the unanswered calls, in order."""
    return [call_id for _, _, missing in _with_answers(messages) for call_id in missing]


def _with_answers(messages: list[Message]) -> Iterator[tuple[Message, list[Message], list[str]]]:
    """Every message that is not an answer, with the answers to its calls and the ids of its unanswered calls."""
    answers = _answers(messages)
    for position, message in enumerate(messages):
        if message.role != "tool":
            given = answers.get(position, [])
            left = Counter(call.id for call in message.tool_calls)
            left.subtract(str(answer.tool_call_id) for answer in given)
            yield message, given, list(left.elements())


def _answers(messages: list[Message]) -> dict[int, list[Message]]:
    """The answers to the calls of each message, in the order in which they came.

    Providers use an id again, so an answer belongs to the latest message that used its id and waits for one.
    """
    answers: dict[int, list[Message]] = {}
    waiting: dict[str, list[int]] = {}
    for position, message in enumerate(messages):
        if message.tool_calls:
            waiting |= {call.id: [] for call in message.tool_calls}
            for call in message.tool_calls:
                waiting[call.id].append(position)
        elif message.role == "tool" and (places := waiting.get(message.tool_call_id or "")):
            answers.setdefault(places.pop(), []).append(message)
    return answers


def unanswered(call_id: str) -> Message:
    """The answer to a call that has no stored result."""
    return Message(role="tool", content=NO_RESULT, tool_call_id=call_id)
