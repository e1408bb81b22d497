"""The contexts that the tools of a loop's sessions run in."""

from pathlib import Path

from toolgate import Workspace
from toolgate.agent.context_factory import ContextFactory
from toolgate.settings import Settings
from toolgate.testing import AutoApprover
from toolgate.workspace.skills import Skills


def factory(workspace: Workspace) -> ContextFactory:
    settings = Settings.defaults()
    return ContextFactory(
        settings=settings,
        workspace=workspace,
        approver=AutoApprover(allow=True),
        policy=None,
        memory=None,
        skills=Skills(workspace, settings.user_directory),
        remembers_for_project=True,
    )


def test_a_context_has_what_the_loop_has(tmp_path: Path) -> None:
    with Workspace(tmp_path) as workspace:
        contexts = factory(workspace)
        context = contexts.context("s1")
        assert (context.session_id, context.approver, context.skills) == ("s1", contexts.approver, contexts.skills)
        assert context.remembers_for_project
        assert context.loaded_tools == set()


def test_two_contexts_share_no_state(tmp_path: Path) -> None:
    with Workspace(tmp_path) as workspace:
        contexts = factory(workspace)
        one, other = contexts.context("s1"), contexts.context("s1")
        assert one.state is not other.state
        assert one.loaded_tools is not other.loaded_tools
