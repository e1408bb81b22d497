"""Where the policy of a context comes from."""

from __future__ import annotations

import os
from typing import TYPE_CHECKING

from toolgate.errors import PolicyError, ToolError
from toolgate.log import logger
from toolgate.protocol.codes import ErrorCode
from toolgate.runtime.state import runtime_state
from toolgate.tools.context import ToolContext
from toolgate.userfiles import users_policy

if TYPE_CHECKING:
    from collections.abc import Callable
    from pathlib import Path

    from toolgate.runtime.policy import Policy
    from toolgate.settings import Settings
    from toolgate.workspace import Workspace
    from toolgate.workspace.file_guard import PathRules

PROJECT_POLICY = ".toolgate/policy.toml"
_NAMED = "TOOLGATE_POLICY_FILE"
_MAX_BYTES = 1 << 20


def policy_of(context: ToolContext) -> Policy:
    """The session's policy, loaded once; an unreadable or invalid file raises `PolicyError`."""
    state = runtime_state(context)
    policy = state.policy
    if policy is None:
        from toolgate.runtime.policy import Policy

        project = project_text(context.workspace) if context.workspace is not None else None
        _require_named(context.settings.policy_file)
        root = None if context.workspace is None else str(context.workspace.root)
        state.policy_stamp = file_stamp(context.settings.policy_file)
        policy = Policy.load(
            user_file=context.settings.policy_file, project_text=project, project=root, program=context.policy
        )
        state.policy = policy
    return policy


def refresh_policy(context: ToolContext) -> None:
    """Read the user's file again if it has changed; while it is gone or has a mistake, the rules stay as they were."""
    state = runtime_state(context)
    policy, file = state.policy, context.settings.policy_file
    stamp = file_stamp(file)
    if policy is None or file is None or stamp is None or stamp == state.policy_stamp:
        return
    from toolgate.runtime.policy.load import read_user_file

    try:
        policy.replace_layers({**policy.layers, "user": read_user_file(file)})
    except PolicyError as error:
        logger("policy").warning("policy_not_read_again", file=str(file), error=str(error))
    state.policy_stamp = stamp


def check_policy(context: ToolContext) -> None:
    """Raise the error of an invalid policy before the first call.

    Without a file of the user's or the project's nothing can be wrong, and the built-in rules wait for the first call.
    """
    if runtime_state(context).policy is not None:
        return
    file, workspace = context.settings.policy_file, context.workspace
    _require_named(file)
    users = file is not None and _may_exist(file)
    if users or (workspace is not None and project_text(workspace) is not None):
        policy_of(context)


def path_rules_of(workspace: Workspace, settings: Settings, program: Policy | None) -> Callable[[], PathRules]:
    """Return a function for the rules about reading paths, as they are now. It raises `ToolError` if it cannot."""
    context: list[ToolContext] = []

    def rules() -> PathRules:
        if not context:
            context.append(ToolContext(workspace=workspace, settings=settings, policy=program))
        try:
            policy = policy_of(context[0])
        except PolicyError as error:
            raise ToolError(ErrorCode.ACCESS_DENIED, f"The policy cannot be read: {error}") from error
        refresh_policy(context[0])
        return policy.path_rules

    return rules


def check_users_policy(path: Path | None) -> None:
    """Raise the error of an invalid user's file, for programs that start long before the first call."""
    _require_named(path)
    if path is not None and _may_exist(path):
        from toolgate.runtime.policy.load import read_user_file

        read_user_file(path)


def project_text(workspace: Workspace) -> str | None:
    """The project's policy file, or None if there is none."""
    try:
        with workspace.open_file(PROJECT_POLICY) as file:
            content = os.pread(file.fd, _MAX_BYTES + 1, 0)
    except ToolError as error:
        if error.code is ErrorCode.NOT_FOUND:
            return None
        raise PolicyError(f"{PROJECT_POLICY} cannot be read: {error.message}") from error
    if len(content) > _MAX_BYTES:
        raise PolicyError(f"{PROJECT_POLICY} is larger than {_MAX_BYTES} bytes")
    try:
        return content.decode()
    except UnicodeDecodeError:
        raise PolicyError(f"{PROJECT_POLICY} is not UTF-8: save it as UTF-8") from None


def _require_named(path: Path | None) -> None:
    """Refuse a policy file that is named but missing: its rules would silently not apply.

    Only the default file may be missing, and only if neither the environment nor the program names it.
    """
    if path is None or _may_exist(path):
        return
    if os.environ.get(_NAMED) == str(path):
        raise PolicyError(f"{path}: there is no such file. Make it, or unset {_NAMED} to have no rules.")
    if path != users_policy(os.environ) or os.path.islink(path):
        raise PolicyError(f"{path}: there is no such file. Make it, or set policy_file to None to have no rules.")


def file_stamp(path: Path | None) -> tuple[int, ...] | None:
    """A value that changes whenever the file does; None if there is no file."""
    if path is None:
        return None
    try:
        found = os.stat(path)
    except (OSError, ValueError):
        return None
    return found.st_dev, found.st_ino, found.st_size, found.st_mtime_ns


def _may_exist(path: Path) -> bool:
    """Whether the path may exist. Whether it is a readable file shows when it is read."""
    try:
        os.stat(path)
    except FileNotFoundError:
        return False
    except (OSError, ValueError):
        return True
    return True
