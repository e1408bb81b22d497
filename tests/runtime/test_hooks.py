"""Hooks of the user: they make things stricter, and one that fails, hangs or lies denies the call."""

import asyncio
import json
import time
from pathlib import Path
from typing import Any

import pytest

from tests.kit import call, code_of
from toolgate import ToolContext, ToolMode, ToolResult, Workspace, builtin_registry
from toolgate.runtime.hooks import Hooks
from toolgate.runtime.policy import Rule
from toolgate.runtime.policy_source import policy_of
from toolgate.runtime.state import runtime_state
from toolgate.settings import Settings
from toolgate.testing import AutoApprover

WRITE = {"path": "new.txt", "content": "hello\n"}


class Box:
    """A project, a user with hooks, and a toolset."""

    def __init__(self, base: Path, allow: bool = True) -> None:
        self.root, self.config = base / "root", base / "config"
        self.root.mkdir(exist_ok=True)
        self.config.mkdir(exist_ok=True)
        self.approver = AutoApprover(allow)
        settings = Settings.defaults().model_copy(update={"user_directory": self.config})
        self.context = ToolContext(
            workspace=Workspace(self.root), mode=ToolMode.coding, approver=self.approver, settings=settings
        )

    def hook(self, script: str, event: str = "PreToolUse", matcher: str = "*", **more: Any) -> "Box":
        file = self.config / "hooks.json"
        document = json.loads(file.read_text()) if file.exists() else {"hooks": {}}
        handler = {"type": "command", "command": script, **more}
        document["hooks"].setdefault(event, []).append({"matcher": matcher, "hooks": [handler]})
        file.write_text(json.dumps(document))
        return self

    async def do(self, name: str = "write_file", **arguments: Any) -> ToolResult:
        toolset = builtin_registry().toolset(ToolMode.coding, self.context)
        return await toolset.handle(call(name, arguments or WRITE))

    @property
    def written(self) -> bool:
        return (self.root / "new.txt").exists()


@pytest.fixture
def box(tmp_path: Path) -> Box:
    return Box(tmp_path)


def says(**document: Any) -> str:
    return f"cat > /dev/null; printf '%s' '{json.dumps({'hookSpecificOutput': document})}'"


async def test_a_hook_that_says_nothing_changes_nothing_and_sees_the_call(box: Box) -> None:
    box.hook("cat > seen.json")
    result = await box.do()
    seen = json.loads((box.root / "seen.json").read_text())
    assert (code_of(result), box.written, len(box.approver.requests)) == (None, True, 1)
    assert (seen["hook_event_name"], seen["tool_name"], seen["tool_input"]) == ("PreToolUse", "write_file", WRITE)


@pytest.mark.parametrize(
    ("script", "said"),
    [
        ("echo not on Friday >&2; exit 2", "not on Friday"),
        (says(permissionDecision="deny", permissionDecisionReason="no"), "denied this call: no."),
        ("""echo '{"decision": "block", "reason": "old form"}'""", "old form"),
        ("""echo '{"continue": false, "stopReason": "stop"}'""", "stop"),
        ("exit 1", "a hook failed: it ended with exit code 1"),
        ("/no/such/program", "exit code 127"),
        ("kill -9 $$", "a hook failed"),
        ("sleep 60", "did not end within"),
        ("sleep 60 & echo '{}'", "did not end within"),
        ("""echo '{"hookSpecificOutput": '""", "is not JSON"),
        (says(permissionDecision="sure"), "is none of allow, ask and deny"),
        (says(permissionDecision=["allow"]), "is none of allow"),
        (says(updatedInput="rm"), "updatedInput an object"),
        ("""echo '{"hookSpecificOutput": 1}'""", "is not an object"),
        ("yes", "more than 65536 bytes"),
    ],
)
async def test_a_hook_that_denies_fails_hangs_or_lies_denies_the_call(box: Box, script: str, said: str) -> None:
    began = time.monotonic()
    result = await box.hook(script, timeout=1).do()
    assert (code_of(result), box.written, box.approver.requests) == ("APPROVAL_DENIED", False, [])
    assert said in result.message
    assert time.monotonic() - began < 30


async def test_allow_allows_no_more_than_the_policy(tmp_path: Path) -> None:
    box = Box(tmp_path, allow=False).hook(says(permissionDecision="allow"))
    assert (code_of(await box.do()), box.written, len(box.approver.requests)) == ("APPROVAL_DENIED", False, 1)


async def test_ask_asks_where_the_policy_would_allow(tmp_path: Path) -> None:
    box = Box(tmp_path, allow=False).hook(says(permissionDecision="ask", permissionDecisionReason="sure?"))
    runtime_state(box.context).policy = policy_of(box.context).with_rules([Rule(tool="ls", decision="allow")])
    assert code_of(await box.do("ls", path=".")) == "APPROVAL_DENIED"
    assert [request.reason for request in box.approver.requests] == ["hook: sure?"]


async def test_changed_arguments_are_planned_shown_and_hashed_again(box: Box, tmp_path: Path) -> None:
    other = {"path": "other.txt", "content": "safe\n"}
    (tmp_path / "plain").mkdir()
    plain = Box(tmp_path / "plain")
    await plain.do("write_file", **other)
    result = await box.hook(says(updatedInput=other)).do()
    (request,) = box.approver.requests
    assert (request.fingerprint, request.detail) == (
        plain.approver.requests[0].fingerprint,
        plain.approver.requests[0].detail,
    )
    assert ((box.root / "other.txt").read_text(), box.written) == ("safe\n", False)
    assert "the arguments were changed to" in result.output


@pytest.mark.parametrize("arguments", [{"path": "x"}, {"path": "../x", "content": ""}, {"path": 1, "content": 2}])
async def test_changed_arguments_that_do_not_fit_are_refused(box: Box, arguments: dict[str, Any]) -> None:
    result = await box.hook(says(updatedInput=arguments)).do()
    assert code_of(result) in ("INVALID_PARAM", "ACCESS_DENIED")
    assert box.approver.requests == []


async def test_a_matcher_names_tools_and_an_agent_command_cannot_get_around_it(box: Box) -> None:
    box.hook("echo no writing >&2; exit 2", matcher="write_file|edit_file")
    routed = await box.do("Bash", command="write new.txt hello")
    assert ("no writing" in routed.output, box.written) == (True, False)
    assert code_of(await box.do("ls", path=".")) is None
    await box.context.aclose()


@pytest.mark.parametrize(
    "arguments",
    [{"path": "secret"}, {"paths": ["secret"]}, {"paths": ["secret", "open"]}, {"path": "open", "paths": ["secret"]}],
)
async def test_a_hook_sees_the_path_of_every_file_that_is_read(box: Box, arguments: dict[str, Any]) -> None:
    for name in ("open", "secret"):
        (box.root / name).write_text(f"content of {name}")
    box.hook("""! grep -Eq '"path": ?"secret"' || exit 2""")
    assert "content of secret" not in (await box.do("read_file", **arguments)).model_dump_json()
    assert "content of open" in (await box.do("read_file", path="open")).output


async def test_an_after_hook_adds_context_and_its_failure_changes_nothing(box: Box) -> None:
    box.hook(says(additionalContext="run the formatter"), "PostToolUse")
    box.hook("exit 1", "PostToolUse")
    box.hook("echo style >&2; exit 2", "after_call")
    result = await box.do()
    assert (code_of(result), box.written) == (None, True)
    assert result.output.endswith("[A hook of the user: run the formatter\nstyle]")


async def test_an_approval_hook_denies_but_never_allows(tmp_path: Path) -> None:
    box = Box(tmp_path, allow=False).hook(says(permissionDecision="allow"), "PermissionRequest")
    assert (code_of(await box.do()), len(box.approver.requests)) == ("APPROVAL_DENIED", 1)
    (tmp_path / "two").mkdir()
    strict = Box(tmp_path / "two").hook("echo asleep >&2; exit 2", "approval")
    result = await strict.do()
    assert ("hook: asleep" in result.message, strict.approver.requests, strict.written) == (True, [], False)


@pytest.mark.parametrize(
    "text",
    [
        "{",
        "[]",
        '{"hooks": []}',
        '{"hooks": {"Before": []}}',
        '{"hooks": {"PreToolUse": [{"matcher": "(", "hooks": []}]}}',
        '{"hooks": {"PreToolUse": [{"hooks": [{"type": "http", "command": "x"}]}]}}',
        '{"hooks": {"PreToolUse": [{"hooks": [{"type": "command", "command": "x", "timeout": -1}]}]}}',
    ],
)
async def test_hooks_that_cannot_be_read_deny_every_call(box: Box, text: str) -> None:
    (box.config / "hooks.json").write_text(text)
    result = await box.do()
    assert (code_of(result), "hooks.json is not valid" in result.message, box.written) == (
        "APPROVAL_DENIED",
        True,
        False,
    )


async def test_a_project_has_no_hooks(box: Box) -> None:
    hooks = '{"hooks": {"PreToolUse": [{"hooks": [{"type": "command", "command": "exit 2"}]}]}}'
    for place in (".claude/settings.json", ".toolgate/hooks.json", "hooks.json"):
        (box.root / place).parent.mkdir(exist_ok=True)
        (box.root / place).write_text(hooks)
    assert (code_of(await box.do()), box.written) == (None, True)


async def test_a_cancelled_call_ends_its_hook(box: Box) -> None:
    box.hook("echo $$ > pid; sleep 60")
    pending = builtin_registry().toolset(ToolMode.coding, box.context).handle(call("write_file", WRITE))
    while not (box.root / "pid").exists() or not (box.root / "pid").read_text().strip():
        await asyncio.sleep(0.01)
    pending.cancel()
    assert (code_of(await pending), box.written) == ("CANCELLED", False)
    process = Path("/proc", (box.root / "pid").read_text().strip(), "stat")
    async with asyncio.timeout(60):
        while not _has_ended(process):
            await asyncio.sleep(0.01)
        while len(asyncio.all_tasks()) > 1:  # the pipes of the hook are closed
            await asyncio.sleep(0.01)


def _has_ended(process: Path) -> bool:
    try:
        return process.read_text().rpartition(")")[2].split()[0] == "Z"
    except (FileNotFoundError, ProcessLookupError):
        return True


def test_events_that_are_not_supported_are_left_out() -> None:
    hooks = Hooks.read('{"hooks": {"Notification": [], "SessionEnd": [{"hooks": []}], "PostToolUseFailure": []}}')
    assert not any(hooks.concerns(event) for event in ("before_call", "after_call", "approval"))
