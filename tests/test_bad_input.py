"""Whatever a program passes wrongly is answered in one line that says what to write, before anything is opened."""

from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from starlette.applications import Starlette

import toolgate
from toolgate import DeferredApprover, Policy, Rule, ToolContext, ToolRegistry, tool
from toolgate.adapters.mcp_client import parse_servers
from toolgate.agent import AgentDefinition, AgentLoop
from toolgate.evaluation import Evaluation, Task
from toolgate.gateway import create_app, mount
from toolgate.models import choose_model
from toolgate.sessions import InMemorySessions
from toolgate.settings import Settings
from toolgate.testing import ScriptedModel


def _any(value: object) -> Any:
    """Keep the type checker from finding these mistakes first."""
    return value


def _loop(**wrong: Any) -> AgentLoop:
    parts = {"model": ScriptedModel([]), "registry": ToolRegistry(), "sessions": InMemorySessions()}
    return AgentLoop(**{**parts, **wrong})


@pytest.mark.parametrize(
    ("make", "said"),
    [
        (
            lambda: _any(Rule)(tool="Bash", decision="maybe"),
            "Rule: decision is 'maybe': write 'allow', 'ask' or 'deny'",
        ),
        (lambda: _any(Rule)(tool="Bash", wrods=("rm",), decision="ask"), "Rule: wrods is unknown; did you mean words?"),
        (lambda: Policy(_any("x")), "Policy takes documents by layer, not 'x': write Policy.of(Rule(…))"),
        (
            lambda: ToolContext(workspace=_any(".")),
            "workspace must be a toolgate.Workspace, not a path: write Workspace('.')",
        ),
        (lambda: ToolContext(session_id=_any(3)), "session_id must be text, not 3"),
        (
            lambda: ToolContext(settings=_any({"a": 1})),
            "settings must be a toolgate.settings.Settings, not dict: write Settings",
        ),
        (lambda: _loop(model="gpt"), "model must be a client with stream, not 'gpt': write choose_model(name)"),
        (lambda: _loop(registry=[]), "registry must be a ToolRegistry, not []: write builtin_registry()"),
        (lambda: _loop(sessions="x"), "sessions must be a store of sessions, not 'x': write InMemorySessions()"),
        (
            lambda: _loop(workspace=Path("a")),
            "workspace must be a toolgate.Workspace, not a path: write Workspace('a')",
        ),
        (lambda: _loop(settings=3), "settings must be a toolgate.settings.Settings, not int: write Settings"),
        (lambda: tool(_any(3)), "@tool decorates a function, not 3: write `def my_tool(…)` below it"),
        (
            lambda: DeferredApprover(timeout=_any("x")),
            "timeout must be seconds above 0, or None to wait for ever, not 'x'",
        ),
        (lambda: create_app(_any(3)), "settings must be a toolgate.settings.Settings, not int: write Settings"),
        (
            lambda: mount(Starlette(), "/a", _any("x")),
            "settings must be a toolgate.settings.Settings, not str: write Sett",
        ),
        (
            lambda: create_app(Settings.of(), _any("gpt")),
            "model must be a client with stream, not 'gpt': write choose_model",
        ),
        (lambda: Evaluation([_any(3)]), "3 is not a toolgate.evaluation.Task: write load_tasks(directory)"),
        (lambda: Evaluation([], model=_any(3)), "model must be a function that makes the client of one run, not 3"),
        (
            lambda: _any(Task)(name="x", check=[]),
            "Task: workspace is missing; check is []: tuple should have at least 1",
        ),
        (lambda: _any(AgentDefinition)(name="x", prompt="y"), "AgentDefinition: description is missing"),
        (
            lambda: choose_model(_any(Settings.of())),
            "the name of a model is text, not a Settings: write settings=settings",
        ),
        (lambda: parse_servers(_any({}), {}), "parse_servers takes JSON text, not a dict: write json.dumps(…)"),
        (lambda: ScriptedModel("Hi."), "turns must be a list of turns, not text: write ScriptedModel(['Hi.'])"),
    ],
)
def test_a_wrong_argument_is_one_line_that_says_what_to_write(make: Callable[[], object], said: str) -> None:
    with pytest.raises((TypeError, ValueError)) as caught:
        make()
    assert str(caught.value).startswith(said)
    assert "\n" not in str(caught.value)


@pytest.mark.parametrize(
    ("wrong", "said"),
    [
        (
            {"settings": {"mode": "coding"}},
            "settings must be a toolgate.settings.Settings, not dict: write Settings.load()",
        ),
        ({"approval_mode": "never"}, "approval_mode must be one of 'ask', 'accept_edits', 'plan', not 'never'"),
        ({"session_id": 3}, "session_id must be text, not 3"),
    ],
)
async def test_open_refuses_a_wrong_argument(tmp_path: Path, wrong: dict[str, Any], said: str) -> None:
    with pytest.raises((TypeError, ValueError)) as caught:
        async with toolgate.open(tmp_path, **wrong):
            pass
    assert str(caught.value).startswith(said)
    assert "\n" not in str(caught.value)
    assert list(tmp_path.iterdir()) == []
