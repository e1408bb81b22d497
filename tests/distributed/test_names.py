"""Names of queues, and the version of stored turns."""

from toolgate.distributed.names import agents_queue, turns_queue, version, workspace_of
from toolgate.sessions.schema import HEAD


def test_turns_and_sub_agents_wait_in_different_queues() -> None:
    assert turns_queue("shop") != agents_queue("shop")
    assert turns_queue("shop") != turns_queue("bank")


def test_a_session_without_a_project_runs_in_the_default_workspace() -> None:
    assert (workspace_of(""), workspace_of("shop")) == ("default", "shop")


def test_versions_sort_as_they_follow_each_other() -> None:
    assert version().startswith(f"{HEAD}.")
    assert version() < f"{int(HEAD) + 1:04}.0001"
