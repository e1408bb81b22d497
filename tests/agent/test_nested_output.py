"""What a sub-agent does, as lines for the card of its call."""

from toolgate.agent.events import AgentEvent, TextChunk, ToolCallInfo, ToolOutput
from toolgate.agent.nested_output import nested


def test_calls_and_output_become_lines_and_the_rest_is_dropped() -> None:
    seen: list[AgentEvent] = []
    tell = nested("t1", "explore", seen.append)
    tell(TextChunk(content="Hm."))
    tell(ToolCallInfo(tool_name="grep", arguments={"pattern": "a  b\nc", "limit": 5}, call_id="x"))
    tell(ToolCallInfo(tool_name="Bash", arguments={"command": "x" * 500}, call_id="y"))
    tell(ToolOutput(call_id="y", stream="stderr", text="one\ntwo"))

    texts = [event.text for event in seen if isinstance(event, ToolOutput)]
    assert texts[0] == "explore: grep a b c 5\n"
    assert len(texts[1]) < 200
    assert texts[2] == "  one\n  two"
    assert {event.call_id for event in seen if isinstance(event, ToolOutput)} == {"t1"}


def test_without_a_listener_or_a_call_nothing_is_told() -> None:
    seen: list[AgentEvent] = []
    info = ToolCallInfo(tool_name="grep", arguments={}, call_id="x")
    nested("t1", "explore", None)(info)
    nested("", "explore", seen.append)(info)

    assert seen == []
