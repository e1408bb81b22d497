"""The default text of an envelope, and the strict JSON that it is made with."""

import json
from typing import Any

from toolgate.protocol.envelope import ToolResponse


def compact_json(value: Any) -> str:
    """Strict JSON without spaces; raises `ValueError` or `TypeError` for what JSON cannot say."""
    return json.dumps(value, ensure_ascii=False, allow_nan=False, separators=(",", ":"))


def render_response(response: ToolResponse) -> str:
    """The envelope's text, then its data as compact JSON."""
    if not response.data:
        return response.text
    return f"{response.text}\n{compact_json(response.data)}"
