"""`memory`: what its words mean."""

from toolgate.agent_commands import RoutedCall
from toolgate.agent_commands.router import parse


def arguments(command: str) -> dict[str, object]:
    outcome = parse(command)
    assert isinstance(outcome, RoutedCall), outcome
    return {"tool": outcome.tool_name, **outcome.arguments}


def test_memory() -> None:
    assert arguments("memory search how to test --limit 3") == {
        "tool": "memory_search",
        "query": "how to test",
        "limit": 3,
    }
    assert arguments("memory append 'a note'") == {"tool": "memory_append", "content": "a note"}
    assert arguments("memory add <<'EOF'\na\nb\nEOF") == {"tool": "memory_append", "content": "a\nb\n"}
