"""From a session's log to frames: one event is at most one durable frame, so `seq` is enough to go on from."""

from __future__ import annotations

import json
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from json.encoder import encode_basestring
from typing import Any

from toolgate.protocol.ids import uuid7
from toolgate.protocol.jsontext import encode, is_unicode, scrub
from toolgate.protocol.ports import LoggedEvent
from toolgate.protocol.references import references

quoted: Callable[[str], str] = encode_basestring
"""A string as JSON."""
_LARGEST_DATA = 64 * 1024
"""Characters of an envelope's data, as JSON, that a frame carries."""
_LONGEST_MEMBER = 2000
"""Characters of one member that are kept where the whole is too long."""


@dataclass(slots=True)
class Frame:
    """A frame, written once for everybody who gets it."""

    type: str
    id: str
    """As JSON."""
    data: str
    """As JSON."""
    seq: int | None = None
    session_id: str = ""
    turn_id: str | None = None
    _plain: str = field(default="")
    _tagged: str = field(default="")

    @property
    def plain(self) -> str:
        """The frame as the ruling has it."""
        if not self._plain:
            seq = "" if self.seq is None else f',"seq":{self.seq}'
            self._plain = f'{{"type":"{self.type}","id":{self.id},"data":{self.data}{seq}}}'
        return self._plain

    @property
    def tagged(self) -> str:
        """The frame with the session and the turn that it belongs to."""
        if not self._tagged:
            turn = "null" if self.turn_id is None else quoted(self.turn_id)
            tags = f'"session_id":{quoted(self.session_id)},"turn_id":{turn}'
            self._tagged = f"{self.plain[:-1]},{tags}}}"
        return self._tagged


def as_json(value: Any) -> str:
    """A value as JSON that can be sent, whatever text is in it."""
    text = encode(value)
    return text if is_unicode(text) else encode(scrub(value))


def response(request_id: Any, data: Mapping[str, Any]) -> str:
    """The answer to a request."""
    return f'{{"type":"response","id":{as_json(request_id)},"data":{as_json(data)}}}'


def error(request_id: Any, code: str, message: str) -> str:
    """The answer to a request that cannot be done."""
    return f'{{"type":"error","id":{as_json(request_id)},"data":{as_json({"code": code, "message": message})}}}'


def chunk(id_json: str, text: str, tags: str = "") -> str:
    """A piece of text."""
    return f'{{"type":"stream_chunk","id":{id_json},"data":{{"content":{quoted(text)},"done":false}}{tags}}}'


def request_key(key: str | None, request_id: str | int) -> str:
    """How a turn remembers the request that began it: the client's own key, else a unique one and the frame's `id`."""
    return f"{uuid7()}/{as_json(request_id)}" if key is None else f"={key}"


def frame_id(request_key: str | None, turn_id: str | None) -> str:
    """The `id` of a turn's frames, as JSON: that of the request that began it, else its key, else the turn's own."""
    if request_key is not None and request_key.startswith("="):
        return quoted(request_key[1:])
    _, slash, request_id = (request_key or "").partition("/")
    if slash:
        try:
            if isinstance(json.loads(request_id), str | int):
                return request_id
        except ValueError:
            pass  # a request that came another way has a name of another form
    return "null" if turn_id is None else quoted(turn_id)


def _tool_call(payload: Mapping[str, Any], _: str) -> tuple[str, dict[str, Any]]:
    return "tool_call", {key: payload[key] for key in ("call_id", "tool_name", "arguments")}


def _call_finished(payload: Mapping[str, Any], link: str) -> tuple[str, dict[str, Any]]:
    if payload.get("denied"):
        return "tool_denied", dict(payload["denied"])
    text = payload.get("text") or ""
    data, cut = _bounded(payload.get("data") or {})
    return "tool_result", {
        "call_id": payload["call_id"],
        "tool_name": payload["tool_name"],
        "status": payload.get("status") or "error",
        "text": text,
        "code": payload.get("code"),
        "message": payload.get("message") or text,
        "data": data,
        "cut": cut,
        "extras": payload.get("extras") or {},
        "time_ms": payload.get("time_ms") or 0,
        "full_output": link if references(payload.get("data")) else None,
    }


def _bounded(data: dict[str, Any]) -> tuple[dict[str, Any], bool]:
    if len(encode(data)) <= _LARGEST_DATA:
        return data, False
    kept: dict[str, Any] = {}
    left = _LARGEST_DATA
    for key, value in data.items():
        member = value if not isinstance(value, str) else value[:_LONGEST_MEMBER]
        size = len(key) + len(encode(member))
        if size <= left:
            kept[key] = member
            left -= size
    return kept, True


def _same(*names: str) -> Callable[[Mapping[str, Any], str], dict[str, Any]]:
    return lambda payload, _: {name: payload.get(name) for name in names}


_PLAIN: dict[str, Callable[[Mapping[str, Any], str], tuple[str, dict[str, Any]]]] = {
    "call_proposed": _tool_call,
    "call_finished": _call_finished,
    "approval_request": lambda payload, _: ("approval_request", dict(payload)),
    "approval_resolved": lambda payload, _: ("approval_resolved", dict(payload)),
}
"""Kind of event → the frame that every client gets."""

_DETAILS: dict[str, tuple[str, Callable[[Mapping[str, Any], str], dict[str, Any]]]] = {
    "turn_started": ("turn_started", _same()),
    "call_started": ("tool_started", _same("call_id")),
    "todos": ("todos", _same("items")),
    "compacted": ("compacted", _same("before_tokens", "after_tokens")),
    "agent_started": ("agent_started", _same("session_id", "agent", "description", "call_id")),
    "turn_finished": ("turn_finished", _same("status", "code", "message", "usage")),
}
"""Kind of event → the frame that those get who asked for details."""


def plain_frame(event: LoggedEvent, session_id: str, id_json: str) -> Frame | None:
    """The frame that everybody gets for an event, if there is one."""
    make = _PLAIN.get(event.kind)
    if make is None:
        return None
    kind, data = make(event.payload, f"/sessions/{session_id}/outputs/{event.seq}")
    return Frame(kind, id_json, as_json(data), event.seq, session_id, event.turn_id)


def detail_frame(event: LoggedEvent, session_id: str, id_json: str) -> Frame | None:
    """The frame that those get for an event who asked for details, if there is one."""
    role = event.payload.get("role") if event.kind == "message" else None
    if role == "user":
        kind, data = "user_message", {"content": event.payload["content"]}
    elif role == "assistant":
        kind, data = "text_end", {}
    elif event.kind in _DETAILS:
        kind, make = _DETAILS[event.kind]
        data = make(event.payload, "")
    else:
        return None
    return Frame(kind, id_json, as_json(data), event.seq, session_id, event.turn_id)


def ending_frames(event: LoggedEvent, session_id: str, id_json: str) -> list[Frame]:
    """What ends a turn: the error, if it failed, then the last chunk."""
    payload = event.payload
    code, message = payload.get("code") or "", payload.get("message") or ""
    return ending_frames_of(payload.get("status") or "", message, session_id, event.turn_id, id_json, code=code)


def ending_frames_of(
    status: str, message: str, session_id: str, turn_id: str | None, id_json: str, *, code: str = ""
) -> list[Frame]:
    """What ends a turn with this status."""
    if status in ("failed", "interrupted"):
        known = code if code == "SESSION_FENCED" else "INTERNAL_ERROR"
        said = message or "The turn ended before it was done."
        return failure_frames(known, said, session_id, turn_id, id_json)
    return [_last_chunk(session_id, turn_id, id_json)]


def failure_frames(code: str, message: str, session_id: str, turn_id: str | None, id_json: str) -> list[Frame]:
    """What ends a turn that failed: the error, then the last chunk."""
    said = as_json({"code": code, "message": message})
    failure = Frame("error", id_json, said, None, session_id, turn_id)
    return [failure, _last_chunk(session_id, turn_id, id_json)]


def _last_chunk(session_id: str, turn_id: str | None, id_json: str) -> Frame:
    return Frame("stream_chunk", id_json, '{"content":"","done":true}', None, session_id, turn_id)
