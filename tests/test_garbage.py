"""Postponing the garbage collection."""

import gc

from toolgate.garbage import collection_postponed


def test_nothing_is_collected_until_the_last_one_ends() -> None:
    with collection_postponed():
        with collection_postponed():
            assert not gc.isenabled()
        assert not gc.isenabled()
    assert gc.isenabled()


def test_a_program_that_collects_by_itself_keeps_it_off() -> None:
    gc.disable()
    try:
        with collection_postponed():
            assert not gc.isenabled()
        assert not gc.isenabled()
    finally:
        gc.enable()
