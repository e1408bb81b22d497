"""`write`: what its words mean."""

import pytest

from toolgate.agent_commands import RoutedCall
from toolgate.agent_commands.router import parse


def arguments(command: str) -> dict[str, object]:
    outcome = parse(command)
    assert isinstance(outcome, RoutedCall), outcome
    return {"tool": outcome.tool_name, **outcome.arguments}


@pytest.mark.parametrize(
    ("command", "content"),
    [
        ("write f x", "x"),
        ("write f ''", ""),
        ('write f "--help"', "--help"),
        ("write f '-h'", "-h"),
        ("write f \\-h", "-h"),
        ("write f -- -h", "-h"),
        ("write f 'a\nb\n'", "a\nb\n"),
        ("write f 'a && b | c > d; $(e) `f`'", "a && b | c > d; $(e) `f`"),
        ('write f "a \\"b\\" \\$c \\`d\\` \\\\"', 'a "b" $c `d` \\'),
        ("write f $'tab\\there\\n'", "tab\there\n"),
        ('write f "costs 5$"', "costs 5$"),
        ("write f <<'EOF'\n$x `y` \\z\nEOF", "$x `y` \\z\n"),
        ("write f <<EOF\n\\$x \\\\ y\nEOF", "$x \\ y\n"),
        ("write f <<EOF\na\\\nb\nEOF", "ab\n"),
        ("write f <<-'EOF'\n\t\ta\n\tEOF", "a\n"),
        ("write f <<'A B'\nx\nA B\n", "x\n"),
        ("write f <<EOF\nEOF", ""),
        ("write f - <<EOF\nx\nEOF", "x\n"),
        ("write f <<< text", "text\n"),
        ("write <<'EOF' f\nx\nEOF", "x\n"),
        ("write f <<'EOF'\nwrite f <<'X'\nX\nEOF", "write f <<'X'\nX\n"),
        ("write f 漢字", "漢字"),
    ],
)
def test_write(command: str, content: str) -> None:
    assert arguments(command) == {"tool": "write_file", "path": "f", "content": content}
