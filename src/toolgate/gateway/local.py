"""The gateway whose turns run in its own process."""

from __future__ import annotations

from typing import TYPE_CHECKING

from toolgate.gateway.access import Access
from toolgate.gateway.live_text import LiveTextRelay
from toolgate.gateway.metrics import Counts
from toolgate.gateway.model_methods import may_set_up
from toolgate.gateway.outputs import LocalBlobs
from toolgate.gateway.service import Service
from toolgate.gateway.turns import LocalFeed, LocalTurns
from toolgate.protocol.ports import TurnRunner
from toolgate.runtime.project_rules import can_remember_for_project
from toolgate.workspace.own_commands import OwnCommands

if TYPE_CHECKING:
    from toolgate.compose import Stack


def attach_files(service: Service, stack: Stack) -> None:
    """Let the service show the files of the stack's project."""
    service.workspace = stack.workspace
    service.own_commands = OwnCommands(stack.workspace, stack.settings.user_directory)
    service.output_dir = stack.settings.tool_output.dir
    service.shell = stack.settings.shell


def local_service(stack: Stack, access: Access) -> Service:
    """Create the service whose turns run in this process."""
    live, counts = LiveTextRelay(), Counts()
    stack.remembers_for_project = len(access.users) == 1  # the policy file is one person's: others may not change it
    max_turns = stack.settings.gateway.max_turns

    def turns(user: str) -> TurnRunner:
        track, running_sessions = stack.database.feed.track, stack.sessions.running_sessions
        return LocalTurns(stack.loop_of(user), live, track, max_turns, counts.event, running_sessions)

    service = Service(
        stack.settings.gateway,
        access,
        stack.sessions,
        stack.registry,
        LocalFeed(stack.sessions, live),
        turns,
        LocalBlobs(stack.workspace_of, stack.settings.tool_output.dir),
        stack.project,
        coding_enabled=stack.settings.session.coding_enabled,
    )
    service.models = stack.models
    service.model_setup = may_set_up(stack.settings)
    service.closes_abandoned = True
    attach_files(service, stack)
    if stack.remembers_for_project and can_remember_for_project(stack.settings.policy_file, stack.workspace):
        service.policy_file, service.root = stack.settings.policy_file, str(stack.workspace.root)
    service.counts = counts
    return service
