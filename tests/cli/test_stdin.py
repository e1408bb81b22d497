"""Standard input as text: up to a limit, and only UTF-8."""

import io
import sys

import pytest

from toolgate.cli.errors import UsageError
from toolgate.cli.stdin import MAX_BYTES, read_stdin


def given(data: bytes, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(sys, "stdin", io.TextIOWrapper(io.BytesIO(data)))


def test_everything_is_read(monkeypatch: pytest.MonkeyPatch) -> None:
    given("a\r\né".encode(), monkeypatch)
    assert read_stdin() == "a\r\né"


def test_the_limit_itself_is_allowed(monkeypatch: pytest.MonkeyPatch) -> None:
    given(b"a" * MAX_BYTES, monkeypatch)
    assert len(read_stdin()) == MAX_BYTES


def test_one_byte_more_is_refused(monkeypatch: pytest.MonkeyPatch) -> None:
    given(b"a" * (MAX_BYTES + 1), monkeypatch)
    with pytest.raises(UsageError, match="longer than 4,194,304 bytes"):
        read_stdin()


def test_bytes_that_are_no_text_are_refused_with_their_place(monkeypatch: pytest.MonkeyPatch) -> None:
    given(b"abc\xff", monkeypatch)
    with pytest.raises(UsageError, match=r"not UTF-8 \(byte 3\)"):
        read_stdin()
