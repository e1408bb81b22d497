"""The table of system calls that commands do not get."""

from toolgate.sandbox.supervisor.call_numbers import CALLS


def test_no_number_stands_for_two_calls() -> None:
    for machine in (0, 1):
        numbers = [both[machine] for both in CALLS.values() if both[machine] is not None]

        assert len(numbers) == len(set(numbers))


def test_calls_from_number_424_on_have_the_same_number_everywhere() -> None:
    assert [name for name, (one, other) in CALLS.items() if (one or 0) >= 424 and one != other] == []


def test_the_table_is_sorted_so_that_a_call_is_found() -> None:
    assert list(CALLS) == sorted(CALLS)
