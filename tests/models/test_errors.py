"""Errors of providers: which HTTP status is which code, what is retryable, and what a person reads."""

import pytest

from toolgate.models.errors import from_status, unreachable


@pytest.mark.parametrize(
    ("status", "message", "code", "retryable"),
    [
        (401, "bad key", "MODEL_AUTH", False),
        (403, "no", "MODEL_AUTH", False),
        (413, "large", "MODEL_CONTEXT", False),
        (400, "This model's maximum context length is 10", "MODEL_CONTEXT", False),
        (422, "prompt is too long", "MODEL_CONTEXT", False),
        (400, "unknown field", "MODEL_BAD_REQUEST", False),
        (404, "no such model", "MODEL_NOT_FOUND", False),
        (429, "slow down", "MODEL_RATE_LIMIT", True),
        (408, "late", "MODEL_UNAVAILABLE", True),
        (409, "again", "MODEL_UNAVAILABLE", True),
        (500, "oops", "MODEL_UNAVAILABLE", True),
        (529, "overloaded", "MODEL_UNAVAILABLE", True),
    ],
)
def test_a_status_has_its_code(status: int, message: str, code: str, retryable: bool) -> None:
    error = from_status(status, message, {}, key_name="THE_KEY")
    assert (error.code, error.retryable) == (code, retryable)
    assert message in str(error)


@pytest.mark.parametrize(
    ("header", "seconds"), [("2", 2.0), ("0.5", 0.5), ("-1", None), ("4000", None), ("soon", None), ("nan", None)]
)
def test_the_time_to_wait_is_taken_if_it_is_sensible(header: str, seconds: float | None) -> None:
    error = from_status(429, "slow down", {"retry-after": header}, key_name="THE_KEY")
    assert error.retry_after == seconds


def test_a_refused_key_names_the_setting() -> None:
    assert str(from_status(401, "bad key", {}, key_name="THE_KEY")).endswith("bad key. Check THE_KEY.")


def test_a_long_message_is_shortened_to_one_line() -> None:
    text = from_status(500, "a\n" * 1000, {}, key_name="THE_KEY").cause
    assert "\n" not in text
    assert len(text) < 400
    assert text.endswith("…")


def test_a_server_that_cannot_be_reached_may_be_tried_again() -> None:
    broken, late = unreachable("http://x", timed_out=False), unreachable("http://x", timed_out=True)
    assert broken.retryable
    assert late.retryable
    assert str(broken) != str(late)
