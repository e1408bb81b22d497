"""Times in which commands could write."""

import time

from toolgate.sandbox.git.write_intervals import WriteIntervals


def test_before_any_command_nothing_could_be_written() -> None:
    assert not WriteIntervals().holds(time.time_ns())


def test_while_a_command_runs_every_later_moment_counts() -> None:
    intervals = WriteIntervals()
    before = time.time_ns() - 10**9
    intervals.begin("a")

    assert (intervals.is_open, intervals.runs("a")) == (True, True)
    assert intervals.holds(time.time_ns())
    assert not intervals.holds(before)


def test_after_a_command_only_its_own_time_counts() -> None:
    intervals = WriteIntervals()
    intervals.begin("a")
    inside = time.time_ns()
    intervals.end("a")

    assert (intervals.is_open, intervals.runs("a")) == (False, False)
    assert intervals.holds(inside)
    assert not intervals.holds(time.time_ns() + 10**9)


def test_overlapping_commands_are_one_interval() -> None:
    intervals = WriteIntervals()
    intervals.begin("a")
    intervals.begin("b")
    intervals.end("a")
    between = time.time_ns()
    intervals.end("b")

    assert intervals.holds(between)


def test_the_end_of_a_command_that_never_began_is_ignored() -> None:
    intervals = WriteIntervals()
    intervals.end("a")

    assert not intervals.holds(time.time_ns())


def test_of_very_many_commands_the_oldest_are_counted_together() -> None:
    intervals = WriteIntervals()
    moments = []
    for number in range(5000):
        intervals.begin(number)
        moments.append(time.time_ns())
        intervals.end(number)

    assert all(intervals.holds(moment) for moment in moments)
