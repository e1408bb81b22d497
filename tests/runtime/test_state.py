"""State of the pipeline: one per session, whatever toolsets it has."""

from tests.kit import ProbeTool
from toolgate import CallableToolset, ToolContext
from toolgate.runtime.state import runtime_state


def test_every_toolset_of_a_session_has_the_same_state() -> None:
    context = ToolContext()
    state = runtime_state(context)
    CallableToolset([ProbeTool()], context)
    CallableToolset([ProbeTool()], context.derive(call_id="c"))
    assert runtime_state(context) is state
    assert runtime_state(context.derive(agent="sub")) is state


def test_another_session_has_another() -> None:
    first, second = runtime_state(ToolContext()), runtime_state(ToolContext())
    assert first is not second
    assert first.breaker is not second.breaker
    assert first.writers is not second.writers
