"""Loggers say everything in one line of standard logging."""

import builtins
import logging
from typing import Any

import pytest

from toolgate.log import logger


def test_an_event_is_its_name_and_its_values(caplog: pytest.LogCaptureFixture) -> None:
    with caplog.at_level(logging.WARNING, logger="toolgate.room"):
        logger("room").warning("it_happened", number=7, text="a b")

    assert [(record.name, record.getMessage()) for record in caplog.records] == [
        ("toolgate.room", "it_happened number=7 text='a b'")
    ]


def test_what_is_below_the_level_is_not_said(caplog: pytest.LogCaptureFixture) -> None:
    with caplog.at_level(logging.ERROR, logger="toolgate.room"):
        logger("room").warning("it_happened")

    assert caplog.records == []


def test_an_exception_keeps_its_traceback(caplog: pytest.LogCaptureFixture) -> None:
    try:
        raise ValueError("broken")
    except ValueError as error:
        logger("room").error("it_failed", exc_info=error)

    assert "ValueError: broken" in caplog.text


def test_without_memory_for_the_library_an_event_is_said_in_plain_logging(
    caplog: pytest.LogCaptureFixture, monkeypatch: pytest.MonkeyPatch
) -> None:
    real = builtins.__import__

    def starved(name: str, *arguments: Any) -> Any:
        if name == "structlog":
            raise MemoryError
        return real(name, *arguments)

    with caplog.at_level(logging.WARNING, logger="toolgate.starved"), monkeypatch.context() as patch:
        patch.setattr(builtins, "__import__", starved)
        logger("starved").warning("it_happened", number=7)

    assert [record.getMessage() for record in caplog.records] == ["it_happened number=7"]
