"""Identifiers that sort by time."""

import time
import uuid

from toolgate.protocol.ids import uuid7


def test_an_id_is_a_uuid_of_version_7_with_the_time_in_front() -> None:
    before = time.time_ns() // 1_000_000
    made = uuid.UUID(uuid7())
    after = time.time_ns() // 1_000_000

    assert (made.version, made.variant) == (7, uuid.RFC_4122)
    assert before <= made.int >> 80 <= after


def test_ids_of_one_moment_are_different() -> None:
    assert len({uuid7() for _ in range(1000)}) == 1000
