"""`jobs keep`: a command that passes its deadline goes on as a job, when the caller asked for that."""

from collections.abc import AsyncIterator
from pathlib import Path

import pytest

from tests.support.toolbox import Toolbox
from toolgate.agent_commands import Native
from toolgate.agent_commands.router import CommandRouter, parse
from toolgate.testing import AutoApprover


@pytest.fixture
async def box(tmp_path: Path) -> AsyncIterator[Toolbox]:
    made = Toolbox(tmp_path)
    yield made
    await made.context.aclose()


async def test_at_the_deadline_of_the_call_it_goes_on_as_a_job(box: Toolbox) -> None:
    command = "jobs keep echo begin; until [ -e go ]; do sleep 0.05; done; echo end; exit 3"
    response = await box("Bash", command=command, timeout_ms=1000)

    assert (response.status, response.data["job_id"], response.data["exit_code"]) == ("partial", "job-1", None)
    assert response.data["stdout"] == "begin\n"
    assert "timed_out" not in response.data
    assert response.text == (
        "The command did not end within 1 s and goes on in the background as job-1. "
        "Next: jobs wait job-1, jobs output job-1, or jobs stop job-1."
    )

    (box.root / "go").touch()
    waited = await box("Bash", command="jobs wait job-1")

    assert (waited.data["stdout"], waited.data["exit_code"]) == ("begin\nend\n", 3)


async def test_it_can_name_its_own_time(box: Toolbox) -> None:
    response = await box("Bash", command="jobs keep --after 1 sleep 1000", timeout_ms=60_000)

    assert response.data["job_id"] == "job-1"
    assert "within 1 s" in response.text
    stopped = await box("Bash", command="jobs stop job-1")
    assert stopped.data["stdout"].startswith("job-1  stopped")


async def test_a_command_that_ends_in_time_is_an_ordinary_one(box: Toolbox) -> None:
    response = await box("Bash", command="jobs keep A=1; echo a b | wc -w; exit 4")

    assert (response.data["stdout"], response.data["exit_code"], "job_id" in response.data) == ("2\n", 4, False)
    assert (await box("Bash", command="echo $A")).data["stdout"] == "1\n"


async def test_the_session_goes_on_beside_it(box: Toolbox) -> None:
    await box("Bash", command="jobs keep sleep 1000", timeout_ms=300)

    assert (await box("Bash", command="echo next")).data["stdout"] == "next\n"


async def test_what_it_keeps_is_asked_about_as_what_it_is(tmp_path: Path) -> None:
    (tmp_path / "x").touch()
    box = Toolbox(tmp_path, approver=AutoApprover(allow=False))
    for command in ("jobs keep rm x", "jobs keep --after 5 rm x", "bash jobs keep rm x", "jobs keep -- rm x"):
        response = await box("Bash", command=command)
        assert response.error is not None
        assert response.error.code == "APPROVAL_DENIED", command
    assert (tmp_path / "x").exists()


WRONG = ["jobs keep", "jobs keep --after 5", "jobs keep --after 0 ls", "jobs keep --after x ls", "jobs keep read f"]


@pytest.mark.parametrize("command", WRONG)
async def test_words_that_do_not_fit_are_a_usage_error(box: Toolbox, command: str) -> None:
    result = await box.result("Bash", command=command)

    assert (result.response.data["exit_code"], result.extras["failureCategory"]) == (2, "invalid_usage")
    assert "keep [--after SECONDS] <command>" in result.response.data["stderr"]


def test_everything_behind_it_is_the_command() -> None:
    assert parse("jobs keep make 2>&1 | tail -3 && ls") == Native(command="make 2>&1 | tail -3 && ls", keep=True)
    assert parse("jobs keep --after=7 jobs keep make") == Native(command="make", keep=True, after=7)
    assert parse("jobs keeper") != Native(command="er", keep=True)


async def test_the_router_keeps_it_too(box: Toolbox) -> None:
    async def dispatch(call: object) -> None:
        raise AssertionError("nothing is dispatched")

    router = CommandRouter(box.context.shell, dispatch)  # type: ignore[arg-type]
    result = await router.execute("jobs keep --after 1 sleep 1000")

    assert (result.job_id, result.exit_code) == ("job-1", None)
