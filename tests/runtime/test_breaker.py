"""The circuit breaker by itself."""

from toolgate.runtime.breaker import PAUSE_SECONDS, THRESHOLD, Breaker
from toolgate.testing import FakeClock


def opened(clock: FakeClock) -> Breaker:
    breaker = Breaker(clock)
    for _ in range(THRESHOLD):
        assert breaker.begin("t")
        breaker.end("t", broken=True)
    return breaker


def test_it_is_three_in_a_row_and_a_minute() -> None:
    assert (THRESHOLD, PAUSE_SECONDS) == (3, 60.0)


def test_two_failures_do_not_open_it() -> None:
    breaker = Breaker(FakeClock())
    for _ in range(2):
        breaker.begin("t")
        breaker.end("t", broken=True)
    assert not breaker.is_open("t")


def test_three_failures_open_it_for_that_tool_only() -> None:
    breaker = opened(FakeClock())
    assert (breaker.is_open("t"), breaker.begin("t"), breaker.is_open("other")) == (True, False, False)


def test_it_says_how_long_it_rests() -> None:
    clock = FakeClock()
    breaker = opened(clock)
    clock.advance(20)
    assert (breaker.remaining("t"), breaker.remaining("other")) == (40.0, 0.0)
    clock.advance(100)
    assert breaker.remaining("t") == 0.0


def test_it_opens_at_the_end_of_the_rest_and_not_before() -> None:
    clock = FakeClock()
    breaker = opened(clock)
    clock.advance(59.999)
    assert not breaker.begin("t")
    clock.advance(0.001)
    assert breaker.begin("t")


def test_while_one_tries_all_others_wait() -> None:
    clock = FakeClock()
    breaker = opened(clock)
    clock.advance(PAUSE_SECONDS)
    assert (breaker.begin("t"), breaker.begin("t"), breaker.is_open("t")) == (True, False, True)


def test_a_try_that_works_closes_it() -> None:
    clock = FakeClock()
    breaker = opened(clock)
    clock.advance(PAUSE_SECONDS)
    breaker.begin("t")
    breaker.end("t", broken=False)
    assert not breaker.is_open("t")
    breaker.begin("t")
    breaker.end("t", broken=True)
    assert not breaker.is_open("t")


def test_a_try_that_breaks_opens_it_again() -> None:
    clock = FakeClock()
    breaker = opened(clock)
    clock.advance(PAUSE_SECONDS)
    breaker.begin("t")
    breaker.end("t", broken=True)
    assert (breaker.is_open("t"), breaker.remaining("t")) == (True, PAUSE_SECONDS)


def test_a_try_that_shows_nothing_leaves_it_to_the_next() -> None:
    clock = FakeClock()
    breaker = opened(clock)
    clock.advance(PAUSE_SECONDS)
    breaker.begin("t")
    breaker.end("t", broken=None)
    assert breaker.begin("t")


def test_a_success_forgets_the_failures_before() -> None:
    breaker = Breaker(FakeClock())
    for broken in (True, True, False, True, True):
        breaker.begin("t")
        breaker.end("t", broken=broken)
    assert not breaker.is_open("t")
