"""Hooks of the user around a turn: `turn_start` may deny it or add context, `turn_end` hears how it ended."""

import asyncio
import json
from pathlib import Path
from typing import Any

import pytest

from tests.agent.kit import Stage, call, settings_of
from toolgate.agent import TurnDone, TurnFailed
from toolgate.testing import ScriptedModel
from toolgate.workspace import Workspace


async def stage(tmp_path: Path, hooks: dict[str, list[str]], turns: Any = (["Fine."],), **more: Any) -> Stage:
    config, root = tmp_path / "config", tmp_path / "root"
    config.mkdir(exist_ok=True)
    root.mkdir(exist_ok=True)
    document = {
        event: [{"matcher": "Bash", "hooks": [{"type": "command", "command": script, **more} for script in scripts]}]
        for event, scripts in hooks.items()
    }
    (config / "hooks.json").write_text(json.dumps({"hooks": document}))
    settings = settings_of().model_copy(update={"user_directory": config})
    return await Stage.set(turns, settings=settings, workspace=Workspace(root))


@pytest.mark.parametrize(
    ("script", "said"),
    [
        ("echo not today >&2; exit 2", "not today"),
        ("""echo '{"decision": "block", "reason": "too late"}'""", "too late"),
        ("""echo '{"continue": false, "stopReason": "over"}'""", "over"),
        ("exit 1", "a hook failed: it ended with exit code 1"),
        ("""echo '{"decision": "ask"}'""", "'ask' is not valid for a turn"),
        ("echo '{'", "is not JSON"),
        ("sleep 60", "did not end within"),
    ],
)
async def test_a_turn_that_a_hook_denies_asks_no_model(tmp_path: Path, script: str, said: str) -> None:
    on = await stage(tmp_path, {"UserPromptSubmit": [script]}, timeout=0.5 if "sleep" in script else 60)
    events = await on.say("Hello")
    assert isinstance(events[-1], TurnFailed)
    assert (events[-1].code, said in events[-1].message, on.model.requests) == ("HOOK_DENIED", True, [])
    await on.close()


async def test_context_reaches_the_model_and_is_not_stored(tmp_path: Path) -> None:
    start = [
        "cat > start.json; echo plain text",
        """echo '{"hookSpecificOutput": {"additionalContext": "and JSON"}}'""",
    ]
    on = await stage(tmp_path, {"turn_start": start}, (["Fine."], ["Again."]))
    assert isinstance((await on.say("Hello"))[-1], TurnDone)
    seen = json.loads((tmp_path / "root" / "start.json").read_text())
    assert (seen["hook_event_name"], seen["event"], seen["prompt"]) == ("UserPromptSubmit", "turn_start", "Hello")
    assert seen["session_id"] == on.id
    assert on.model.requests[0].messages[-1]["content"] == "Hello\n\n[A hook of the user: plain text\nand JSON]"
    assert (await on.transcript())[0] == {"role": "user", "content": "Hello"}
    await on.close()


async def test_the_end_is_told_once_and_a_failure_there_changes_nothing(tmp_path: Path) -> None:
    on = await stage(
        tmp_path, {"Stop": ["cat >> ends; echo >> ends", "exit 2", "exit 1"]}, ([call("ls")], ["All done."])
    )
    assert isinstance((await on.say())[-1], TurnDone)
    (line,) = (tmp_path / "root" / "ends").read_text().splitlines()
    told = json.loads(line)
    assert (told["event"], told["status"], told["code"]) == ("turn_end", "done", "")
    assert told["last_assistant_message"] == "All done."
    await on.close()


async def test_the_end_of_a_denied_turn_is_told(tmp_path: Path) -> None:
    on = await stage(tmp_path, {"turn_start": ["exit 2"], "turn_end": ["cat > end"]})
    await on.say()
    told = json.loads((tmp_path / "root" / "end").read_text())
    assert (told["status"], told["code"]) == ("failed", "HOOK_DENIED")
    await on.close()


async def test_hooks_that_cannot_be_read_deny_every_turn(tmp_path: Path) -> None:
    on = await stage(tmp_path, {})
    (tmp_path / "config" / "hooks.json").write_text("{")
    events = await on.say()
    assert isinstance(events[-1], TurnFailed)
    assert (events[-1].code, on.model.requests) == ("HOOK_DENIED", [])
    await on.close()


async def test_sub_agents_have_no_turn_hooks(tmp_path: Path) -> None:
    turns = ([call("task", {"agent": "explore", "prompt": "look"})], ["Looked."], ["Done."])
    on = await stage(tmp_path, {"turn_start": ["echo x >> starts"], "turn_end": ["echo x >> ends"]}, turns)
    assert isinstance((await on.say())[-1], TurnDone)
    assert len(on.model.requests) == 3
    for name in ("starts", "ends"):
        assert (tmp_path / "root" / name).read_text() == "x\n"
    await on.close()


async def test_a_turn_that_is_cancelled_while_its_hook_runs_ends(tmp_path: Path) -> None:
    on = await stage(tmp_path, {"turn_start": ["echo > began; sleep 60"]})
    assert isinstance(on.model, ScriptedModel)
    turn = asyncio.ensure_future(on.say())
    async with asyncio.timeout(60):
        while not (tmp_path / "root" / "began").exists():
            await asyncio.sleep(0.01)
        await on.loop.cancel(on.id)
        events = await turn
        while len(asyncio.all_tasks()) > 1:
            await asyncio.sleep(0.01)
    assert isinstance(events[-1], TurnFailed)
    assert (events[-1].code, on.model.requests) == ("CANCELLED", [])
    await on.close()
