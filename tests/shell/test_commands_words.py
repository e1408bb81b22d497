"""Agent commands: what their words mean."""

import pytest

from toolgate.agent_commands import RoutedCall
from toolgate.agent_commands.router import parse


def arguments(command: str) -> dict[str, object]:
    outcome = parse(command)
    assert isinstance(outcome, RoutedCall), outcome
    return {"tool": outcome.tool_name, **outcome.arguments}


@pytest.mark.parametrize(
    ("command", "expected"),
    [
        ("read f", {"path": "f", "start_line": 1}),
        ("read f --offset 2 --limit 3", {"path": "f", "start_line": 3, "limit": 3}),
        ("read --limit=3 --offset=0 f", {"path": "f", "start_line": 1, "limit": 3}),
        ("read 'a b'", {"path": "a b", "start_line": 1}),
        ("read a\\ b", {"path": "a b", "start_line": 1}),
        ("read -- --help", {"path": "--help", "start_line": 1}),
        ('read "--help"', {"path": "--help", "start_line": 1}),
        ("read *.py", {"path": "*.py", "start_line": 1}),
        ("read /abs/f", {"path": "/abs/f", "start_line": 1}),
        ("read f;", {"path": "f", "start_line": 1}),
        ("\n read f # the file\n", {"path": "f", "start_line": 1}),
        ("read $'a\\tb'", {"path": "a\tb", "start_line": 1}),
        ("read \\\n f", {"path": "f", "start_line": 1}),
    ],
)
def test_read(command: str, expected: dict[str, object]) -> None:
    assert arguments(command) == {"tool": "read_file", **expected}


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


@pytest.mark.parametrize(
    ("command", "expected"),
    [
        ("edit f a b", {"old_string": "a", "new_string": "b", "first_only": True}),
        ("edit f a b --all", {"old_string": "a", "new_string": "b", "replace_all": True}),
        ("edit --all f a b", {"old_string": "a", "new_string": "b", "replace_all": True}),
        ('edit f "--all" b', {"old_string": "--all", "new_string": "b", "first_only": True}),
        ("edit f a ''", {"old_string": "a", "new_string": "", "first_only": True}),
        ("edit f 'a.*' '\\1'", {"old_string": "a.*", "new_string": "\\1", "first_only": True}),
        ("edit f x[0] x[1]", {"old_string": "x[0]", "new_string": "x[1]", "first_only": True}),
        ("edit f $'a\\nb' $'c\\nd'", {"old_string": "a\nb", "new_string": "c\nd", "first_only": True}),
        ("edit f -- --a --b", {"old_string": "--a", "new_string": "--b", "first_only": True}),
    ],
)
def test_edit(command: str, expected: dict[str, object]) -> None:
    assert arguments(command) == {"tool": "edit_file", "path": "f", **expected}


def item(content: str, status: str) -> dict[str, str]:
    return {"content": content, "status": status}


@pytest.mark.parametrize(
    "command",
    [
        "todo '[x] read' '[>] write' test",
        "todo <<'EOF'\n- [x] read\n- [>] write\n\n* [ ] test\nEOF",
        "todo '[X] read' '[~]write' ' test '",
    ],
)
def test_todo(command: str) -> None:
    items = [item("read", "completed"), item("write", "in_progress"), item("test", "pending")]
    assert arguments(command) == {"tool": "todo", "items": items}


def test_todo_clear_empties_the_list() -> None:
    assert arguments("todo --clear") == {"tool": "todo", "items": []}


def test_memory() -> None:
    assert arguments("memory search how to test --limit 3") == {
        "tool": "memory_search",
        "query": "how to test",
        "limit": 3,
    }
    assert arguments("memory append 'a note'") == {"tool": "memory_append", "content": "a note"}
    assert arguments("memory add <<'EOF'\na\nb\nEOF") == {"tool": "memory_append", "content": "a\nb\n"}


def test_task_has_a_description_for_the_person_who_watches() -> None:
    assert arguments("task explore 'Find x.\nThen y.'") == {
        "tool": "task", "agent": "explore", "prompt": "Find x.\nThen y.", "description": "Find x.",
    }  # fmt: skip
    assert arguments("task general <<'EOF'\nDo it\nEOF")["prompt"] == "Do it\n"
    assert arguments(f"task a {'x' * 100}")["description"] == "x" * 59 + "…"
    assert arguments("task a b --description 'in short'")["description"] == "in short"
