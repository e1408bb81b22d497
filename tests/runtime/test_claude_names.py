"""Hooks that were written for Claude Code guard the same calls here, under the names that they know."""

import json
from pathlib import Path
from typing import Any

import pytest

from tests.kit import code_of
from tests.runtime.test_hooks import Box
from toolgate.runtime.claude_names import claude_name

GUARD = """
import json, sys
call = json.load(sys.stdin)
path = call["tool_input"].get("file_path", "")
print(json.dumps([call["tool_name"], path]), file=open(LOG, "a"))
if path.endswith(".lock"):
    print("lock files are generated", file=sys.stderr)
    sys.exit(2)
"""
"""A guard as people have it: no edit of lock files."""
PATCH = "*** Begin Patch\n*** Add File: b.txt\n+b\n*** Add File: sub/c.lock\n+c\n*** End Patch\n"
MOVE = "*** Begin Patch\n*** Update File: a.txt\n*** Move to: a.lock\n@@\n-a\n+b\n*** End Patch\n"


@pytest.fixture
def box(tmp_path: Path) -> Box:
    made = Box(tmp_path)
    (tmp_path / "guard.py").write_text(GUARD.replace("LOG", repr(str(tmp_path / "log"))))
    (made.root / "a.txt").write_text("a\n")
    return made.hook(f"python3 {tmp_path}/guard.py", matcher="Edit|MultiEdit|Write", timeout=60)


def log(box: Box) -> list[Any]:
    file = box.root.parent / "log"
    return [json.loads(line) for line in file.read_text().splitlines()] if file.exists() else []


@pytest.mark.parametrize(
    ("tool", "arguments", "theirs"),
    [
        ("write_file", {"path": "x.lock", "content": "c"}, "Write"),
        ("edit_file", {"path": "./x.lock", "old_string": "a", "new_string": "b"}, "Edit"),
        ("apply_patch", {"patch": PATCH}, "Edit"),
        ("apply_patch", {"patch": MOVE}, "Edit"),
        ("Bash", {"command": "write x.lock c"}, "Write"),
    ],
)
async def test_a_guard_of_claude_code_denies_what_it_is_about(
    box: Box, tool: str, arguments: dict[str, Any], theirs: str
) -> None:
    result = await box.do(tool, **arguments)
    await box.context.aclose()

    assert "lock files are generated" in result.output
    name, path = log(box)[-1]
    assert (name, path.startswith(f"{box.root}/"), path.endswith(".lock")) == (theirs, True, True)
    assert sorted(file.name for file in box.root.iterdir() if file.suffix in (".txt", ".lock")) == ["a.txt"]


async def test_it_lets_everything_else_run_and_sees_no_other_tool(box: Box) -> None:
    written = await box.do("write_file", path="new.txt", content="c")
    listed = await box.do("ls", path=".")

    assert (code_of(written), code_of(listed)) == (None, None)
    assert log(box) == [["Write", str(box.root / "new.txt")]]


@pytest.mark.parametrize(
    ("tool", "arguments"),
    [
        ("write_file", {"path": "sub/../kept/x", "content": "c"}),
        ("write_file", {"path": "link/../x", "content": "c"}),
        ("apply_patch", {"patch": PATCH.replace("sub/c.lock", "link/../x")}),
    ],
)
async def test_a_guard_of_a_directory_sees_where_a_path_with_dots_leads(
    tmp_path: Path, tool: str, arguments: dict[str, Any]
) -> None:
    box = Box(tmp_path)
    (box.root / "kept" / "inner").mkdir(parents=True)
    (box.root / "sub").mkdir()
    (box.root / "link").symlink_to("kept/inner")
    pattern = f'"file_path": ?"{box.root}/kept/x"'
    box.hook(f"! grep -Eq '{pattern}' || exit 2", matcher="Edit|Write")
    result = await box.do(tool, **arguments)

    assert (code_of(result), (box.root / "kept" / "x").exists()) == ("APPROVAL_DENIED", False)


EDITOR = """
import json, sys
said = json.load(sys.stdin)["tool_input"]
if said["file_path"].endswith("b.txt"):
    said["patch"] = said["patch"].replace("+b", "+changed")
print(json.dumps({"hookSpecificOutput": {"permissionDecision": "allow", "updatedInput": said}}))
"""


async def test_what_a_hook_changes_for_one_file_of_a_patch_stays_when_it_is_asked_about_the_next(
    tmp_path: Path,
) -> None:
    box = Box(tmp_path)
    (tmp_path / "editor.py").write_text(EDITOR)
    box.hook(f"python3 {tmp_path}/editor.py", matcher="Edit", timeout=60)
    result = await box.do("apply_patch", patch=PATCH)

    assert (code_of(result), (box.root / "b.txt").read_text()) == (None, "changed\n")


@pytest.mark.parametrize(("path", "lands"), [("{root}/new.txt", "new.txt"), ("{root}/other.txt", "other.txt")])
async def test_arguments_that_it_changes_are_ours_again(tmp_path: Path, path: str, lands: str) -> None:
    box = Box(tmp_path)
    changed = {"file_path": path.format(root=box.root), "path": "new.txt", "content": "changed\n"}
    answer = json.dumps({"hookSpecificOutput": {"permissionDecision": "allow", "updatedInput": changed}})
    box.hook(f"cat > /dev/null; printf '%s' '{answer}'", matcher="Write")
    result = await box.do("write_file", path="new.txt", content="c\n")

    assert code_of(result) is None
    assert (box.root / lands).read_text() == "changed\n"


@pytest.mark.parametrize(
    ("matcher", "name", "theirs"),
    [
        ("Write", "write_file", "Write"),
        ("Edit|Write", "apply_patch", "Edit"),
        ("Notebook.*", "edit_notebook", "NotebookEdit"),
        ("Task", "task", "Task"),
        ("mcp__.*", "write_file", ""),
        ("Write", "read_file", ""),
    ],
)
def test_a_matcher_means_a_tool_by_the_name_that_claude_code_has_for_it(matcher: str, name: str, theirs: str) -> None:
    assert claude_name(matcher, name) == theirs
