"""`apply_patch`: the behaviours of the format that OpenAI's models write, behind the gates of this runtime."""

import json
from pathlib import Path
from typing import Any

import pytest

import toolgate
from tests.support.toolbox import Toolbox
from toolgate.runtime.policy.decide import Policy
from toolgate.runtime.policy.rules import Rule


@pytest.fixture
def tools(tmp_path: Path) -> Toolbox:
    return Toolbox(tmp_path)


def fill(tools: Toolbox, **files: str) -> None:
    for name, content in files.items():
        path = tools.root / name.replace("__", "/").replace("_dot_", ".")
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_bytes(content.encode())


def files(tools: Toolbox) -> dict[str, str]:
    found = sorted(path for path in tools.root.rglob("*") if path.is_file() and ".toolgate" not in path.parts)
    return {str(path.relative_to(tools.root)): path.read_bytes().decode() for path in found}


def patch(*lines: str) -> str:
    return "\n".join(["*** Begin Patch", *lines, "*** End Patch"])


async def test_a_file_is_added(tools: Toolbox) -> None:
    response = await tools("apply_patch", patch=patch("*** Add File: docs/greeting.md", "+Hello", "+", "+there"))

    assert response.data == {
        "applied": True,
        "files": [{"path": "docs/greeting.md", "action": "added"}],
        "diff": "--- /dev/null\n+++ b/docs/greeting.md\n@@ -0,0 +1,3 @@\n+Hello\n+\n+there\n",
    }
    assert files(tools) == {"docs/greeting.md": "Hello\n\nthere\n"}


async def test_several_operations_are_one_approval_one_record_and_one_undo(tools: Toolbox) -> None:
    fill(tools, keep="a\nb\nc\n", gone="x\n", old="m\nn\n")
    before = files(tools)
    text = patch(
        "*** Update File: keep",
        "@@",
        " a",
        "-b",
        "+B",
        "*** Add File: fresh/new",
        "+n",
        "*** Delete File: gone",
        "*** Update File: old",
        "*** Move to: fresh/moved",
        "@@",
        "-m",
        "+M",
        " n",
    )
    result = await tools.result("apply_patch", patch=text)

    assert result.output == ("Applied the patch (+3 -3 lines):\nM keep\nA fresh/new\nD gone\nR old -> fresh/moved"), (
        result.output
    )
    assert files(tools) == {"fresh/moved": "M\nn\n", "fresh/new": "n\n", "keep": "a\nB\nc\n"}
    (request,) = tools.approver.requests
    assert (
        request.summary == "Apply a patch: update 'keep', add 'fresh/new', delete 'gone' and 1 more file (+3 -3 lines)"
    )
    assert request.detail == result.response.data["diff"]
    assert tools.context.workspace is not None
    undone = tools.context.workspace.journal.undo("call")
    assert {(one.path, one.action) for one in undone} == {
        ("keep", "restored"),
        ("fresh/new", "removed"),
        ("gone", "restored"),
        ("fresh/moved", "removed"),
        ("old", "restored"),
    }
    assert files(tools) == before
    assert not (tools.root / "fresh").exists()


async def test_several_hunks_in_one_file(tools: Toolbox) -> None:
    fill(tools, f="1\n2\n3\n4\n5\n6\n")
    text = patch("*** Update File: f", "@@", "-2", "+two", "@@", "-5", "+five", "+and a half")

    assert (await tools("apply_patch", patch=text)).status == "success"
    assert files(tools) == {"f": "1\ntwo\n3\n4\nfive\nand a half\n6\n"}


async def test_a_line_after_the_at_signs_says_below_what_it_is(tools: Toolbox) -> None:
    body = "class A:\n    def m(self):\n        pass\n\nclass B:\n    def m(self):\n        pass\n"
    fill(tools, f=body)
    text = patch("*** Update File: f", "@@ class B:", "@@ def m(self):", "-        pass", "+        return 1")

    assert (await tools("apply_patch", patch=text)).status == "success"
    assert files(tools)["f"] == body[: body.rindex("pass")] + "return 1\n"


@pytest.mark.parametrize(
    ("content", "lines", "expected"),
    [
        ("only\n", ["@@", "+more"], "only\nmore\n"),
        ("only", ["@@", "+more"], "only\nmore\n"),
        ("a\nlast", ["@@", "-last", "+new", "+newer"], "a\nnew\nnewer\n"),
        ("a\nb", ["@@", "-a", "+A", " b"], "A\nb"),
        ("a\nb\na\nb\n", ["@@", " a", "-b", "+B", "*** End of File"], "a\nb\na\nB\n"),
        ("a\nb\nc\n", ["@@", "-b"], "a\nc\n"),
        ("a\nb\nc\n", ["-b", "+B"], "a\nB\nc\n"),
        ("a\nb\nc\n", ["@@ a", "+between"], "a\nbetween\nb\nc\n"),
        ("a\n\nb\n", ["@@", " a", "", "-b", "+B"], "a\n\nB\n"),
        ("na\u00efve caf\u00e9\n", ["@@", "-na\u00efve caf\u00e9", "+caf\u00e9 \u2705"], "caf\u00e9 \u2705\n"),
        ("a\nb\n", ["@@ -1,2 +1,2 @@", " a", "-b", "+B"], "a\nB\n"),
        ("a\nb\n", ["@@", " a", "-b", "+B", "", ""], "a\nB\n"),
        ("a\r\nb\r\nc\n", ["@@", " a", "-b", "+B", "+BB", " c"], "a\r\nB\r\nBB\nc\n"),
        ("a\r\nb\r\n", ["@@", " a", " b", "+c"], "a\r\nb\r\nc\r\n"),
    ],
    ids=[
        "only additions go to the end",
        "a last line without an end gets one when something follows",
        "the last line is replaced",
        "the last line stays without an end",
        "at the end of the file",
        "only removals",
        "without at signs",
        "additions below a named line",
        "an empty line stands for an empty line that stays",
        "unicode",
        "the numbers of a unified diff are not needed",
        "empty lines before the next section",
        "mixed line ends",
        "line ends of the file",
    ],
)
async def test_an_update(tools: Toolbox, content: str, lines: list[str], expected: str) -> None:
    fill(tools, f=content)
    response = await tools("apply_patch", patch=patch("*** Update File: f", *lines))

    assert (response.status, files(tools)) == ("success", {"f": expected}), response.text


@pytest.mark.parametrize("around", ["\n\n{}\n\n", "<<'EOF'\n{}\nEOF", "apply_patch <<EOF\n{}\nEOF\n", "{}\r\n"])
async def test_what_stands_around_a_patch(tools: Toolbox, around: str) -> None:
    text = around.format(patch("*** Add File: f", "+x"))

    assert (await tools("apply_patch", patch=text)).status == "success"
    assert files(tools) == {"f": "x\n"}


async def test_blanks_around_markers_do_not_matter(tools: Toolbox) -> None:
    fill(tools, f="a\n")
    text = "  *** Begin Patch  \n  *** Update File: f  \n@@\n-a\n+b\n *** End Patch \n"

    assert (await tools("apply_patch", patch=text)).status == "success"
    assert files(tools) == {"f": "b\n"}


async def test_a_file_may_be_updated_in_two_sections(tools: Toolbox) -> None:
    fill(tools, f="a\nb\n")
    text = patch("*** Update File: f", "-b", "+c", "*** Update File: ./f", "-a", "-c", "+d")

    assert (await tools("apply_patch", patch=text)).status == "success"
    assert files(tools) == {"f": "d\n"}


async def test_a_move_keeps_mode_and_bytes_of_a_file_that_is_no_text(tools: Toolbox) -> None:
    (tools.root / "tool").write_bytes(b"\x00\x01\xff")
    (tools.root / "tool").chmod(0o755)

    response = await tools("apply_patch", patch=patch("*** Update File: tool", "*** Move to: bin/tool"))

    moved = tools.root / "bin/tool"
    assert (response.status, moved.read_bytes(), moved.stat().st_mode & 0o777) == ("success", b"\x00\x01\xff", 0o755)
    assert not (tools.root / "tool").exists()


async def test_an_existing_file_that_is_added_is_overwritten_and_asks(tools: Toolbox) -> None:
    fill(tools, f="old\n")
    await tools("apply_patch", patch=patch("*** Add File: f", "+new"))

    (request,) = tools.approver.requests
    assert (files(tools), "-old\n+new" in request.detail) == ({"f": "new\n"}, True)
    assert "overwrites what this session has not read: 'f'" in request.reason


BAD: dict[str, list[str]] = {
    "it changes no file": [],
    "begins no section": ["*** Frobnicate File: f"],
    "has no hunk": ["*** Update File: f"],
    "needs a path": ["*** Add File: "],
    "begins with '+'": ["*** Add File: new", "text"],
    "a blank line of the new file": ["*** Add File: new", "+a", "", "+b"],
    "begins neither with": ["*** Update File: f", "@@", "-b", "what is this"],
    "removes nothing and adds nothing": ["*** Update File: f", "@@", " a"],
    "'missing' does not exist": ["*** Update File: missing", "-a", "+b"],
    "'missing2' does not exist": ["*** Delete File: missing2"],
    "'d' is a directory": ["*** Delete File: d"],
    "a file is there already": ["*** Update File: f", "*** Move to: d/g", "-a", "+b"],
    "which another section changes, too": ["*** Update File: f", "-a", "+b", "*** Delete File: f"],
    "names 'f', which": ["*** Update File: f", "-a", "+b", "*** Update File: d/h", "*** Move to: f"],
    "cannot be below it": ["*** Add File: n", "+x", "*** Add File: n/m", "+x"],
    "overlaps the hunk before it": ["*** Update File: f", "@@", "-a", " b", "@@", "-b", "+B"],
    "above the hunk before it": ["*** Update File: f", "@@", "-c", "@@", "-a"],
    "fits at 2 places, at lines 4, 5": ["*** Update File: f", "@@", "-same", "+other"],
    "names the line 'nowhere' after '@@'": ["*** Update File: f", "@@ nowhere", "-a"],
    "not below the line that '@@' names": ["*** Update File: f", "@@ c", "-a"],
    "but not at the end of the file": ["*** Update File: f", "@@", "-a", "*** End of File"],
    "is protected": ["*** Add File: .git/hooks/pre-commit", "+x"],
    "is outside the project root": ["*** Add File: ../x", "+x"],
    "'out' is outside the project root": ["*** Update File: out", "-a"],
    "is a link to": ["*** Delete File: link"],
}


@pytest.mark.parametrize(("problem", "lines"), BAD.items(), ids=BAD)
async def test_a_patch_that_does_not_fit_changes_nothing_and_says_why(
    tools: Toolbox, problem: str, lines: list[str]
) -> None:
    fill(tools, f="a\nb\nc\nsame\nsame\n", d__g="g\n", d__h="h\n")
    (tools.root / "link").symlink_to("f")
    (tools.root / "out").symlink_to("/etc/hostname")
    before = files(tools)
    good = ["*** Add File: good", "+x"]
    response = await tools("apply_patch", patch=patch(*(good if lines else []), *lines))

    assert response.error is not None
    assert (problem in response.text, files(tools), tools.approver.requests) == (True, before, []), response.text


async def test_a_patch_that_changes_nothing_is_refused(tools: Toolbox) -> None:
    fill(tools, f="a\n")
    response = await tools("apply_patch", patch=patch("*** Update File: f", "-a", "+a"))

    assert (response.status, "changes nothing" in response.text) == ("error", True)


@pytest.mark.parametrize(
    "text", ["", "x", "*** Begin Patch", "*** End Patch", "--- a/f\n+++ b/f\n@@ -1 +1 @@\n-a\n+b\n"]
)
async def test_what_is_no_patch_is_told_the_format(tools: Toolbox, text: str) -> None:
    response = await tools("apply_patch", patch=text)

    assert response.error is not None
    assert (response.error.code, "*** Begin Patch" in response.text) == ("INVALID_PARAM", True)


async def test_a_hunk_that_only_resembles_the_file_is_proposed_and_never_applied(tools: Toolbox) -> None:
    body = "def first():\n    pass\n\n\ndef second():\n    value = 1\n    return value\n"
    fill(tools, f=body)
    text = patch("*** Update File: f", "@@", " def second():", "-  value = 1", "+  value = 2", "     return value")
    result = await tools.result("apply_patch", patch=text)

    assert files(tools) == {"f": body}
    assert result.response.data == {
        "path": "f",
        "hunk": 1,
        "nearest": {
            "new_text_present": False,
            "text": "def second():\n    value = 1\n    return value",
            "start_line": 5,
            "end_line": 7,
            "first_difference": {"line": 6, "expected": "  value = 1", "actual": "    value = 1"},
        },
    }
    assert "Hunk 1 of 'f' (line 3 of the patch) was not found; the nearest text is at lines 5-7" in result.output
    assert result.output.endswith("def second():\n    value = 1\n    return value")


async def test_a_file_that_changed_since_it_was_read_is_a_conflict_for_the_whole_patch(tools: Toolbox) -> None:
    fill(tools, f="a\n", g="b\n")
    await tools("read_file", path="g")
    (tools.root / "g").write_text("b\nsomebody else\n")
    text = patch("*** Update File: f", "-a", "+A", "*** Update File: g", "-b", "+B")
    response = await tools("apply_patch", patch=text)

    assert response.error is not None
    assert (response.error.code, files(tools)) == ("CONFLICT", {"f": "a\n", "g": "b\nsomebody else\n"})


async def test_a_file_that_changes_while_the_person_thinks_is_a_conflict(tmp_path: Path) -> None:
    class Slow:
        async def decide(self, request: toolgate.ApprovalRequest) -> toolgate.Approval:
            (tmp_path / "g").write_text("theirs\n")
            return toolgate.Approval(allowed=True)

    tools = Toolbox(tmp_path, approver=Slow())
    fill(tools, f="a\n", g="b\n")
    text = patch("*** Update File: f", "-a", "+A", "*** Delete File: g")
    response = await tools("apply_patch", patch=text)

    assert response.error is not None
    assert (response.error.code, files(tools)) == ("CONFLICT", {"f": "a\n", "g": "theirs\n"})


async def test_a_dry_run_asks_nobody_and_shows_the_diff(tools: Toolbox) -> None:
    fill(tools, f="a\n")
    result = await tools.result("apply_patch", patch=patch("*** Update File: f", "-a", "+b"), dry_run=True)

    assert (files(tools), tools.approver.requests) == ({"f": "a\n"}, [])
    assert "--- a/f\n+++ b/f\n@@ -1 +1 @@\n-a\n+b\n" in result.output


async def test_nothing_is_applied_without_approval(tmp_path: Path) -> None:
    tools = Toolbox(tmp_path, approver=None)
    response = await tools("apply_patch", patch=patch("*** Add File: f", "+x"))

    assert response.error is not None
    assert (response.error.code, files(tools)) == ("APPROVAL_DENIED", {})


async def test_byte_order_mark_and_utf_16_stay(tools: Toolbox) -> None:
    (tools.root / "bom").write_bytes(b"\xef\xbb\xbfa\r\nb\r\n")
    (tools.root / "wide").write_bytes(b"\xff\xfe" + "a\r\nb\r\n".encode("utf-16-le"))
    lines = ["-b", "+\u00e4"]
    response = await tools("apply_patch", patch=patch("*** Update File: bom", *lines, "*** Update File: wide", *lines))

    assert response.status == "success"
    assert (tools.root / "bom").read_bytes() == b"\xef\xbb\xbf" + "a\r\n\u00e4\r\n".encode()
    assert (tools.root / "wide").read_bytes() == b"\xff\xfe" + "a\r\n\u00e4\r\n".encode("utf-16-le")


async def test_it_is_an_agent_command_in_the_directory_of_the_shell(tools: Toolbox) -> None:
    fill(tools, sub__f="a\n")
    text = patch("*** Update File: f", "-a", "+b")
    await tools("Bash", command="cd sub")
    result = await tools.result("Bash", command=f"apply_patch <<'EOF'\n{text}\nEOF\n")
    await tools.context.aclose()

    assert result.output == "Applied the patch (+1 -1 lines):\nM sub/f\n"
    assert files(tools) == {"sub/f": "b\n"}
    assert json.loads(result.response.to_json())["data"]["exit_code"] == 0


def verdict_of(rule: dict[str, Any], *paths: str) -> str | None:
    from toolgate.protocol.plan import Plan

    policy = Policy.load(extra=[Rule(**rule)])
    verdict = policy.decide("apply_patch", {"patch": "…"}, Plan(summary="", resources=paths))
    return verdict.decision if verdict is not None else None


def test_path_rules_are_about_the_paths_in_the_patch() -> None:
    allow = {"tool": "apply_patch", "args": {"path": "docs/**"}, "decision": "allow"}
    deny = {"tool": "apply_patch", "args": {"path": "docs/**"}, "decision": "deny"}

    assert verdict_of(allow, "docs/a", "docs/b") == "allow"
    assert verdict_of(allow, "docs/a", "src/b") is None
    assert verdict_of(deny, "src/a", "docs/b") == "deny"


@pytest.mark.parametrize("tool", ["write_file", "edit_file"])
def test_what_is_denied_to_the_other_writing_tools_is_denied_to_it(tool: str) -> None:
    deny = {"tool": tool, "args": {"path": "docs/**"}, "decision": "deny"}
    allow = {"tool": tool, "args": {"path": "docs/**"}, "decision": "allow"}

    assert (verdict_of(deny, "docs/a"), verdict_of(deny, "src/a")) == ("deny", None)
    assert verdict_of({"tool": tool, "decision": "deny"}, "src/a") == "deny"
    assert verdict_of(allow, "docs/a") is None
