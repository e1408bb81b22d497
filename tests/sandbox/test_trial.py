"""A trial that runs out of time says nothing about the machine: it chooses no weaker layer and is not remembered."""

from pathlib import Path

import pytest

from toolgate.errors import ToolError
from toolgate.process.executables import bubblewrap_candidates, find_interpreter
from toolgate.sandbox import choose_layer, native_layers, probe, trial
from toolgate.sandbox.native_layers import find_native


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
    monkeypatch.setattr(native_layers, "_interpreter", lambda _user: str(program.path))
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
