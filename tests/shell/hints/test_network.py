"""Hints about the network: a program that waits for it, and a server that is a job."""

from tests.shell.hints.kit import ending
from toolgate.shell.hints import hint

NETWORK = 'There is no network with access="write"; with access="full" a person is asked and it would work.'


def test_at_the_deadline_a_program_that_waits_for_the_network_is_named() -> None:
    text = hint(ending(command="npm install left-pad", exit_code=None, access="write"))

    assert text == f"'npm' may have waited for the network. {NETWORK}"
    assert hint(ending(command="npm install left-pad", exit_code=None, access="full")) == ""
    assert hint(ending(command="npm run build", exit_code=None)) == ""
    assert hint(ending(command="git log", exit_code=None)) == ""


def test_a_server_that_is_a_job_is_explained() -> None:
    refused = {"command": "curl -s http://localhost:8000/", "exit_code": 7, "layer": "bwrap", "mounts": True}

    assert "jobs that have the same access" in hint(ending(**refused, jobs=True))
    assert "may not listen yet" in hint(ending(**refused, jobs=True, reaches_jobs=True))
    assert hint(ending(**refused)) == ""
