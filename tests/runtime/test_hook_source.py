"""When the user's hooks are read, and what becomes of a file that cannot be used."""

from pathlib import Path

import pytest

from toolgate import CallableToolset, ToolContext
from toolgate.runtime.hook_source import hooks_of
from toolgate.settings import Settings

DENIES = '{"hooks": {"before_call": [{"hooks": [{"type": "command", "command": "exit 2"}]}]}}'


@pytest.fixture
def context(tmp_path: Path) -> ToolContext:
    return ToolContext(settings=Settings.defaults().model_copy(update={"user_directory": tmp_path}))


def test_without_a_file_there_are_no_hooks(context: ToolContext) -> None:
    assert hooks_of(context) is None


def test_without_settings_there_are_no_hooks() -> None:
    assert hooks_of(ToolContext()) is None


def test_the_hooks_of_the_file_are_used(context: ToolContext, tmp_path: Path) -> None:
    (tmp_path / "hooks.json").write_text(DENIES)
    hooks = hooks_of(context)

    assert hooks is not None
    assert hooks.concerns("before_call")
    assert not hooks.concerns("after_call")


def test_a_file_that_cannot_be_read_concerns_every_event(context: ToolContext, tmp_path: Path) -> None:
    (tmp_path / "hooks.json").mkdir()
    hooks = hooks_of(context)

    assert hooks is not None
    assert hooks.concerns("before_call")
    assert hooks.concerns("turn_start")


def test_a_toolset_reads_the_file_when_it_is_made(context: ToolContext, tmp_path: Path) -> None:
    (tmp_path / "hooks.json").write_text(DENIES)
    CallableToolset([], context)
    (tmp_path / "hooks.json").unlink()

    assert hooks_of(context) is not None
