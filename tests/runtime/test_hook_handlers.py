"""Hooks that are functions of installed packages: only `hooks.json` makes them run, and one that fails denies."""

import json
import textwrap
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from tests.kit import code_of
from tests.runtime.test_hooks import WRITE, Box

Install = Callable[..., None]


@pytest.fixture
def box(tmp_path: Path) -> Box:
    return Box(tmp_path)


@pytest.fixture
def install(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, request: pytest.FixtureRequest) -> Install:
    """Install a package whose entry point `guard` is the function of this code."""
    module = f"hooks_of_{abs(hash(request.node.name))}"

    def make(code: str, packages: int = 1) -> None:
        site = tmp_path / "site"
        site.mkdir()
        (site / f"{module}.py").write_text(textwrap.dedent(code))
        for number in range(packages):
            info = site / f"p{number}-1.dist-info"
            info.mkdir()
            (info / "METADATA").write_text(f"Metadata-Version: 2.1\nName: p{number}\nVersion: 1\n")
            (info / "entry_points.txt").write_text(f"[toolgate.hooks]\nguard = {module}:hook\n")
        monkeypatch.syspath_prepend(str(site))

    return make


def use(box: Box, event: str = "before_call", **more: Any) -> Box:
    handler = {"type": "entry_point", "name": "guard", **more}
    document = {"hooks": {event: [{"matcher": "*", "hooks": [handler]}]}}
    (box.config / "hooks.json").write_text(json.dumps(document))
    return box


@pytest.mark.parametrize("word", ["def", "async def"])
async def test_a_function_denies_and_sees_the_call(box: Box, install: Install, word: str) -> None:
    install(f"""
        {word} hook(event):
            said = event["event"] + " " + event["tool_name"] + " " + event["tool_input"]["path"]
            return {{"hookSpecificOutput": {{"permissionDecision": "deny", "permissionDecisionReason": said}}}}
    """)
    result = await use(box).do()
    assert (code_of(result), box.written) == ("APPROVAL_DENIED", False)
    assert "before_call write_file new.txt" in result.message


async def test_a_function_that_returns_nothing_or_changes_its_event_changes_nothing(box: Box, install: Install) -> None:
    install("def hook(event): event['tool_input']['path'] = 'other.txt'")
    assert (code_of(await use(box).do()), box.written) == (None, True)


async def test_other_arguments_are_planned_and_shown(box: Box, install: Install) -> None:
    install("""
        def hook(event):
            return {"hookSpecificOutput": {"updatedInput": {**event["tool_input"], "content": "changed"}}}
    """)
    await use(box).do()
    assert (box.root / "new.txt").read_text() == "changed"
    assert "changed" in box.approver.requests[0].detail


@pytest.mark.parametrize(
    ("code", "said"),
    [
        ("def hook(event): raise KeyError('x')", "raised KeyError"),
        ("async def hook(event): raise KeyError('x')", "raised KeyError"),
        ("def hook(event): raise SystemExit(0)", "raised SystemExit"),
        ("def hook(event): return 'yes'", "returned str"),
        ("def hook(event): return {'decision': object()}", "is not JSON"),
        ("def hook(event): return {'reason': 'x' * 100_000}", "more than"),
        ("def hook(event): return {'decision': 'sure'}", "none of allow, ask and deny"),
        ("import threading\ndef hook(event): threading.Event().wait()", "did not return within"),
        ("import asyncio\nasync def hook(event): await asyncio.Event().wait()", "did not return within"),
        ("hook = 7", "is not a function"),
        ("import no_such_module", "No module named"),
    ],
)
async def test_a_function_that_fails_hangs_or_lies_denies_the_call(
    box: Box, install: Install, code: str, said: str
) -> None:
    install(code)
    result = await use(box, timeout=0.5 if "wait()" in code else 60).do()
    assert (code_of(result), box.written, said in result.message) == ("APPROVAL_DENIED", False, True), result.message


async def test_a_name_that_no_package_or_more_than_one_has_denies(box: Box, install: Install) -> None:
    assert "no installed package has the entry point 'guard'" in (await use(box).do()).message
    install("def hook(event): return None", 2)
    assert "2 installed packages" in (await box.do()).message


async def test_a_package_that_hooks_json_does_not_name_is_not_run(box: Box, install: Install, tmp_path: Path) -> None:
    install(f"def hook(event): open({str(tmp_path / 'ran')!r}, 'w')")
    assert code_of(await box.do(**WRITE)) is None
    assert not (tmp_path / "ran").exists()
