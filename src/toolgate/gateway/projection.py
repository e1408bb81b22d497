"""Converts events of a session's log to frames: at most one durable frame per event, so `seq` is enough to resume."""

from __future__ import annotations

import json
from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass, field
from json.encoder import encode_basestring
from typing import Any

from toolgate.protocol.ids import uuid7
from toolgate.protocol.jsontext import encode, is_unicode, scrub
from toolgate.protocol.ports import LoggedEvent
from toolgate.protocol.references import references

quote_json: Callable[[str], str] = encode_basestring
"""Encodes a string as JSON."""
_MAX_DATA = 64 * 1024
"""Maximum characters of an envelope's data, as JSON, in a frame."""
_MAX_MEMBER = 2000
"""Maximum characters of one member if the data is too long."""


@dataclass(slots=True)
class EncodedFrame:
    """A frame, encoded once for all who receive it."""

    type: str
    id: str
    """As JSON."""
    data: str
    """As JSON."""
    seq: int | None = None
    session_id: str = ""
    turn_id: str | None = None
    at: float | None = None
    """When the event was stored, in seconds since the epoch."""
    _plain: str = field(default="")
    _tagged: str = field(default="")

    @property
    def plain(self) -> str:
        """The frame for clients that did not ask for details."""
        if not self._plain:
            seq = "" if self.seq is None else f',"seq":{self.seq}'
            self._plain = f'{{"type":"{self.type}","id":{self.id},"data":{self.data}{seq}}}'
        return self._plain

    @property
    def tagged(self) -> str:
        """The frame with its session and turn."""
        if not self._tagged:
            turn = "null" if self.turn_id is None else quote_json(self.turn_id)
            at = "" if self.at is None else f',"at":{self.at:.3f}'
            tags = f'"session_id":{quote_json(self.session_id)},"turn_id":{turn}{at}'
            self._tagged = f"{self.plain[:-1]},{tags}}}"
        return self._tagged


def as_json(value: Any) -> str:
    """Encode a value as JSON that can be sent, whatever text it contains."""
    text = encode(value)
    return text if is_unicode(text) else encode(scrub(value))


def response(request_id: Any, data: Mapping[str, Any]) -> str:
    """Encode the response to a request."""
    return f'{{"type":"response","id":{as_json(request_id)},"data":{as_json(data)}}}'


def error(request_id: Any, code: str, message: str) -> str:
    """Encode the error response to a request."""
    return f'{{"type":"error","id":{as_json(request_id)},"data":{as_json({"code": code, "message": message})}}}'


def chunk(id_json: str, text: str, tags: str = "") -> str:
    """Encode a piece of text."""
    return f'{{"type":"stream_chunk","id":{id_json},"data":{{"content":{quote_json(text)},"done":false}}{tags}}}'


def request_key(key: str | None, request_id: str | int) -> str:
    """Return the key of a request: the client's own, or a unique one that contains the frame's `id`."""
    return f"{uuid7()}/{as_json(request_id)}" if key is None else f"={key}"


def frame_id(request_key: str | None, turn_id: str | None) -> str:
    """Return the `id` of a turn's frames, as JSON: the request's id, else its key, else the turn's id."""
    if request_key is not None and request_key.startswith("="):
        return quote_json(request_key[1:])
    _, slash, request_id = (request_key or "").partition("/")
    if slash:
        try:
            if isinstance(json.loads(request_id), str | int):
                return request_id
        except ValueError:
            pass  # a request from another source has a key in another format
    return "null" if turn_id is None else quote_json(turn_id)


def _tool_call(payload: Mapping[str, Any], _: str) -> tuple[str, dict[str, Any]]:
    return "tool_call", {key: payload[key] for key in ("call_id", "tool_name", "arguments")}


def _call_finished(payload: Mapping[str, Any], link: str) -> tuple[str, dict[str, Any]]:
    if payload.get("denied"):
        return "tool_denied", dict(payload["denied"])
    text = payload.get("text") or ""
    data, cut = _limit(payload.get("data") or {})
    images = shown_images(payload.get("images") or (), link.rpartition("/outputs/")[0])
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
        **({"images": images} if images else {}),
    }


def shown_images(images: Iterable[Mapping[str, Any]], session: str) -> list[dict[str, Any]]:
    """The pictures of a message or a result, with the address of each; `session` is that of the session."""
    return [
        {"url": f"{session}/pictures/{image['sha256']}"}
        | {key: image[key] for key in ("sha256", "media_type", "width", "height", "name")}
        for image in images
    ]


def _limit(data: dict[str, Any]) -> tuple[dict[str, Any], bool]:
    """Return the data as far as it fits into a frame, and whether something was left out."""
    if len(encode(data)) <= _MAX_DATA:
        return data, False
    kept: dict[str, Any] = {}
    left = _MAX_DATA
    for key, value in data.items():
        member = value if not isinstance(value, str) else value[:_MAX_MEMBER]
        size = len(key) + len(encode(member))
        if size <= left:
            kept[key] = member
            left -= size
    return kept, True


def _copy(*names: str) -> Callable[[Mapping[str, Any], str], dict[str, Any]]:
    """Copy these members; one that is missing becomes null."""
    return lambda payload, _: {name: payload.get(name) for name in names}


def _with_defaults(**defaults: Any) -> Callable[[Mapping[str, Any], str], dict[str, Any]]:
    """Copy these members; an event of an earlier version gets the defaults."""
    return lambda payload, _: {name: payload.get(name, default) for name, default in defaults.items()}


_FRAMES: dict[str, Callable[[Mapping[str, Any], str], tuple[str, dict[str, Any]]]] = {
    "call_proposed": _tool_call,
    "call_finished": _call_finished,
    "approval_request": lambda payload, _: ("approval_request", dict(payload)),
    "approval_resolved": lambda payload, _: ("approval_resolved", dict(payload)),
}
"""Event kind → the frame that every client gets."""

_DETAIL_FRAMES: dict[str, tuple[str, Callable[[Mapping[str, Any], str], dict[str, Any]]]] = {
    "turn_started": ("turn_started", _copy()),  # its time is added in `detail_frame`
    "call_started": ("tool_started", _copy("call_id")),
    "todos": ("todos", _copy("items")),
    "approval_mode": ("approval_mode", _copy("approval_mode")),
    "permission_removed": ("permission_removed", _copy("id")),
    "compacted": ("compacted", _with_defaults(before_tokens=0, after_tokens=0, by="budget", summary="")),
    "rewound": ("rewound", _copy("to_seq", "files")),
    "files_taken_back": ("files_taken_back", _copy("restored", "refused")),
    "forked": ("forked", _copy("session_id", "seq")),
    "model_changed": ("model_changed", _copy("model")),
    "model_retry": ("model_retry", _copy("attempt", "of", "seconds", "code", "message")),
    "activity": ("activity", _copy("what", "text")),
    "agent_started": ("agent_started", _copy("session_id", "agent", "description", "call_id")),
    "turn_finished": (
        "turn_finished",
        _with_defaults(
            status="failed",
            code="",
            message="",
            usage=None,
            context_tokens=0,
            context_limit=0,
            cause="",
            advice="",
            retryable=False,
            seconds=None,
            waited_seconds=None,
        ),
    ),
}
"""Event kind → the frame for clients that asked for details."""


def plain_frame(event: LoggedEvent, session_id: str, id_json: str) -> EncodedFrame | None:
    """Return the frame that every client gets for an event, if there is one."""
    make = _FRAMES.get(event.kind)
    if make is None:
        return None
    kind, data = make(event.payload, f"/sessions/{session_id}/outputs/{event.seq}")
    return EncodedFrame(kind, id_json, as_json(data), event.seq, session_id, event.turn_id, event.created_at)


def detail_frame(event: LoggedEvent, session_id: str, id_json: str) -> EncodedFrame | None:
    """Return the frame for clients that asked for details, if there is one."""
    role = event.payload.get("role") if event.kind == "message" else None
    if role == "user":
        images = shown_images(event.payload.get("images") or (), f"/sessions/{session_id}")
        kind, data = "user_message", {"content": event.payload["content"], **({"images": images} if images else {})}
    elif role == "assistant":
        kind, data = "text_end", {}
    elif event.kind in _DETAIL_FRAMES:
        kind, make = _DETAIL_FRAMES[event.kind]
        data = make(event.payload, "")
        if kind == "turn_started":
            data["at"] = event.created_at
    else:
        return None
    return EncodedFrame(kind, id_json, as_json(data), event.seq, session_id, event.turn_id, event.created_at)


def deleted_frame(session_id: str) -> EncodedFrame:
    """Return the frame that tells that a session was deleted."""
    return EncodedFrame("session_deleted", "null", "{}", None, session_id, None)


def end_frames(event: LoggedEvent, session_id: str, id_json: str) -> list[EncodedFrame]:
    """Return the frames that end a turn: the error if it failed, then the last chunk."""
    payload = event.payload
    code, message = payload.get("code") or "", payload.get("message") or ""
    return end_frames_for(payload.get("status") or "", message, session_id, event.turn_id, id_json, code=code)


def end_frames_for(
    status: str, message: str, session_id: str, turn_id: str | None, id_json: str, *, code: str = ""
) -> list[EncodedFrame]:
    """Return the frames that end a turn with this status."""
    if status in ("failed", "interrupted"):
        wire_code = code if code == "SESSION_FENCED" else "INTERNAL_ERROR"
        text = message or "The turn ended before it was done."
        return failure_frames(wire_code, text, session_id, turn_id, id_json)
    return [_last_chunk(session_id, turn_id, id_json)]


def failure_frames(code: str, message: str, session_id: str, turn_id: str | None, id_json: str) -> list[EncodedFrame]:
    """Return the frames that end a failed turn: the error, then the last chunk."""
    data = as_json({"code": code, "message": message})
    failure = EncodedFrame("error", id_json, data, None, session_id, turn_id)
    return [failure, _last_chunk(session_id, turn_id, id_json)]


def _last_chunk(session_id: str, turn_id: str | None, id_json: str) -> EncodedFrame:
    return EncodedFrame("stream_chunk", id_json, '{"content":"","done":true}', None, session_id, turn_id)
