"""A trial that runs out of time says nothing about the machine: it chooses no weaker layer and is not remembered."""

import asyncio
from pathlib import Path

import pytest

from toolgate import CallableToolset, ToolCall, ToolContext, ToolMode, Workspace, builtin_registry
from toolgate.agent.handoff import unpack
from toolgate.errors import ToolError
from toolgate.process.executables import bubblewrap_candidates, find_interpreter
from toolgate.sandbox import choose_layer, native_layers, probe, supervisor_call, trial
from toolgate.sandbox.native_layers import find_native
from toolgate.settings import Settings
from toolgate.testing import AutoApprover


class BusyProgram:
    """A program that hangs while the machine is busy, and is the real one otherwise."""

    def __init__(self, directory: Path, program: str) -> None:
        self.busy = directory / "busy"
        self.path = directory / Path(program).name
        self.path.write_text(f'#!/bin/sh\nif [ -e {self.busy} ]; then {self.on_busy}; fi\nexec {program} "$@"\n')
        self.path.chmod(0o755)
        self.busy.touch()

    on_busy = "exec sleep 1000"


class BusyOnce(BusyProgram):
    """The same, but only its first start hangs."""

    on_busy = 'rm "$(dirname "$0")/busy"; exec sleep 1000'


@pytest.fixture
def bubblewrap() -> str:
    candidates = bubblewrap_candidates(None, ())
    assert candidates, "the tests need bubblewrap"
    return candidates[0]


@pytest.fixture
def impatient(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(trial, "TIMEOUTS", (0.2, 0.4))


@pytest.mark.usefixtures("impatient")
def test_bubblewrap_on_a_busy_machine_is_an_error_and_works_later(
    tmp_path: Path, bubblewrap: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    program = BusyProgram(tmp_path, bubblewrap)
    with pytest.raises(ToolError, match="too busy"):
        choose_layer("auto", (), str(program.path))
    program.busy.unlink()
    monkeypatch.undo()

    assert choose_layer("auto", (), str(program.path)).name == "bwrap"


def test_a_second_trial_is_made_before_the_error(
    tmp_path: Path, bubblewrap: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(trial, "TIMEOUTS", (0.2, 30.0))
    program = BusyOnce(tmp_path, bubblewrap)

    assert choose_layer("auto", (), str(program.path)).name == "bwrap"


def test_the_second_trial_has_more_time() -> None:
    assert trial.TIMEOUTS[0] < trial.TIMEOUTS[1]


@pytest.fixture
def python(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> BusyProgram:
    """What the native layers are tried with."""
    program = BusyProgram(tmp_path, find_interpreter())
    monkeypatch.setattr(supervisor_call, "_interpreter", lambda _user: str(program.path))
    native_layers._probe.cache_clear()
    return program


def test_native_layers_on_a_busy_machine_are_an_error_and_work_later(
    python: BusyProgram, monkeypatch: pytest.MonkeyPatch
) -> None:
    with monkeypatch.context() as patch:
        patch.setattr(trial, "TIMEOUTS", (0.2, 0.4))
        with pytest.raises(ToolError, match="too busy"):
            find_native()
    python.busy.unlink()

    assert find_native() is not None


@pytest.mark.usefixtures("impatient", "python")
def test_doctor_says_that_the_trial_ran_out_of_time() -> None:
    found = next(probe.native("", None))

    assert not found.works
    assert "too busy" in found.detail


class StalledProgram:
    """Bubblewrap on a machine that stalls until the event loop has had a turn."""

    def __init__(self, directory: Path, program: str) -> None:
        directory.mkdir()
        self.begun, self.stalled = directory / "begun", directory / "stalled"
        self.path = directory / "bwrap"
        self.path.write_text(
            f'#!/bin/sh\ntouch {self.begun}\nwhile [ -e {self.stalled} ]; do sleep 0.02; done\nexec {program} "$@"\n'
        )
        self.path.chmod(0o755)
        self.stalled.touch()

    async def go_on(self) -> None:
        while not self.begun.exists():
            await asyncio.sleep(0.01)
        self.stalled.unlink()


@pytest.fixture
def stalled(tmp_path: Path, bubblewrap: str, monkeypatch: pytest.MonkeyPatch) -> StalledProgram:
    monkeypatch.setattr(trial, "TIMEOUTS", (3.0, 3.0))
    (tmp_path / "root").mkdir()
    return StalledProgram(tmp_path / "programs", bubblewrap)


def context_of(root: Path, program: StalledProgram) -> ToolContext:
    settings = Settings.of(shell={"bwrap": str(program.path)})
    return ToolContext(workspace=Workspace(root), settings=settings, mode=ToolMode.coding, approver=AutoApprover())


async def test_the_event_loop_goes_on_during_the_trial_before_a_command_runs(
    tmp_path: Path, stalled: StalledProgram
) -> None:
    context = context_of(tmp_path / "root", stalled)
    result, _ = await asyncio.gather(context.shell.execute("echo ran"), stalled.go_on())

    assert result.stdout == "ran\n"
    await context.aclose()


async def test_the_event_loop_goes_on_during_the_trial_before_a_command_is_judged(
    tmp_path: Path, stalled: StalledProgram
) -> None:
    context = context_of(tmp_path / "root", stalled)
    toolset = CallableToolset(builtin_registry(), context)
    call = ToolCall(id="1", name="Bash", arguments='{"command": "echo ran"}')
    explained, _ = await asyncio.gather(toolset.explain(call), stalled.go_on())

    assert explained.decision == "allow"
    await context.aclose()


async def test_the_event_loop_goes_on_during_the_trial_before_a_session_is_resumed(
    tmp_path: Path, stalled: StalledProgram
) -> None:
    context = context_of(tmp_path / "root", stalled)
    await asyncio.gather(unpack(context, '{"known": {}, "jobs": 3}'), stalled.go_on())
    result = await context.shell.execute("true")

    assert (context.shell.jobs.number, result.stderr) == (3, "")  # otherwise: its state could not be carried over
    await context.aclose()
