"""State of a session: shared by every copy of its context, and by no other."""

from toolgate import ToolContext, ToolMode
from toolgate.tools.session_state import SessionState


def test_copies_of_a_context_share_the_state() -> None:
    context = ToolContext()
    copy = context.derive(mode=ToolMode.coding, call_id="c")
    copy.state.todos.append({"content": "a"})
    assert copy.state is context.state
    assert context.state.todos == [{"content": "a"}]


def test_another_session_has_a_state_of_its_own() -> None:
    first, second = ToolContext(), ToolContext()
    first.state.kept_outputs.add("x")
    assert second.state.kept_outputs == set()


def test_seen_files_are_made_on_first_use_and_stay() -> None:
    state = SessionState()
    assert state.seen_files is state.seen_files


def test_a_shell_that_is_handed_over_is_there_at_once() -> None:
    assert SessionState().shell is None
