"""The default text of an envelope."""

from toolgate.protocol.envelope import ToolResponse
from toolgate.protocol.jsontext import encode


def render_response(response: ToolResponse) -> str:
    """The envelope's text, then its data as compact JSON."""
    if not response.data:
        return response.text
    return f"{response.text}\n{encode(response.data)}"
