"""`task`: what its words mean."""

from toolgate.agent_commands import RoutedCall
from toolgate.agent_commands.router import parse


def arguments(command: str) -> dict[str, object]:
    outcome = parse(command)
    assert isinstance(outcome, RoutedCall), outcome
    return {"tool": outcome.tool_name, **outcome.arguments}


def test_task_has_a_description_for_the_person_who_watches() -> None:
    assert arguments("task explore 'Find x.\nThen y.'") == {
        "tool": "task", "agent": "explore", "prompt": "Find x.\nThen y.", "description": "Find x.",
    }  # fmt: skip
    assert arguments("task general <<'EOF'\nDo it\nEOF")["prompt"] == "Do it\n"
    assert arguments(f"task a {'x' * 100}")["description"] == "x" * 59 + "…"
    assert arguments("task a b --description 'in short'")["description"] == "in short"
