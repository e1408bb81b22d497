"""Envelopes as text for a model."""

from toolgate.protocol.envelope import ToolResponse
from toolgate.protocol.jsontext import encode


def render_response(response: ToolResponse) -> str:
    """The envelope's text, then its data as compact JSON."""
    if not response.data:
        return response.text
    return f"{response.text}\n{encode(response.data)}"


def render_change(response: ToolResponse) -> str:
    """The envelope's text, then the diff as it is; the content of a new file is not repeated to its author."""
    diff = response.data.get("diff")
    if response.error is not None or not isinstance(diff, str):
        return render_response(response)
    if not diff or diff.startswith("--- /dev/null\n"):
        return response.text
    shown = diff.removesuffix("\n")
    return f"{response.text}\n{shown}"
