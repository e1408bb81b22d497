"""Which parts of the repository a list of git commands may write."""

from toolgate.sandbox.git.git_list import GitList


def test_commands_that_keep_no_list_of_their_own_need_no_part() -> None:
    assert GitList(frozenset({"add", "status", "push"})).parts == frozenset()


def test_commands_need_the_lists_that_they_work_off() -> None:
    assert GitList(frozenset({"rebase"})).parts == {"rebase-merge", "rebase-apply", "sequencer"}
    assert GitList(frozenset({"am", "revert"})).parts == {"rebase-apply", "sequencer"}
