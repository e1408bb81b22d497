"""Starting processes."""

import pytest

from toolgate.process.start import run_briefly, start_with_pipes


def test_a_program_that_ends_gives_its_code_and_both_streams() -> None:
    done = run_briefly(["/bin/sh", "-c", "cat; echo err >&2; exit 3"], timeout=60, stdin=b"in")

    assert done == (3, b"in", b"err\n")


def test_a_program_that_does_not_end_is_a_timeout() -> None:
    with pytest.raises(TimeoutError, match=r"did not end within 0\.1 s"):
        run_briefly(["/bin/sleep", "60"], timeout=0.1)


def test_the_environment_and_the_directory_are_the_given_ones() -> None:
    done = run_briefly(["/bin/sh", "-c", "echo $A; pwd"], timeout=60, environment={"A": "b"}, directory="/usr")

    assert done.stdout == b"b\n/usr\n"


async def test_a_process_can_be_talked_to_over_its_streams() -> None:
    process = await start_with_pipes(["/bin/cat"])

    assert await process.communicate(b"hello") == (b"hello", b"")
