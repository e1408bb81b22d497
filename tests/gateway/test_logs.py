"""The log says the same trouble once in a while, and everything else every time."""

import logging

import pytest

from toolgate.gateway import logs
from toolgate.log import logger
from toolgate.settings import Settings


def test_trouble_that_goes_on_is_said_once_in_a_while(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    now = [100.0]
    monkeypatch.setattr("toolgate.gateway.logs.time.monotonic", lambda: now[0])
    with logs.logging_to_stderr(Settings.defaults()):
        for second in range(25):
            now[0] = 100.0 + second
            logger("distributed").warning("log_not_read", session_id=f"s{second}", error="gone")
            logging.getLogger("pgqueuer").warning("Connection refused\n\tIs the server %s?", "running")
            logger("distributed").info("workers_gone", ids=["w"])
            logger("gateway").info("client_connected", clients=second)
    lines = capsys.readouterr().err.splitlines()
    about = {
        word: [line for line in lines if word in line] for word in ("log_not_read", "refused", "gone ids", "client")
    }

    assert {word: len(found) for word, found in about.items()} == {
        "log_not_read": 3,
        "refused": 3,
        "gone ids": 25,
        "client": 25,
    }
    assert about["log_not_read"][1].endswith("session_id='s10' error='gone' (9 more like this since the last line)")
    assert about["refused"][0].endswith("Connection refused Is the server running?")
    assert len(lines) == 56
