"""What a person chooses for a session at the editor: the approval mode and the model."""

from __future__ import annotations

from typing import TYPE_CHECKING

from acp.schema import (
    SessionConfigOptionSelect,
    SessionConfigSelectOption,
    SessionMode,
    SessionModeState,
)

from toolgate.protocol.modes import ApprovalMode

if TYPE_CHECKING:
    from toolgate.models.source import ModelSource
    from toolgate.sessions import Session

MODEL = "model"
"""The id of the option that chooses the model."""
_MODES = {
    ApprovalMode.ask: ("Ask", "Every call that needs permission is asked about."),
    ApprovalMode.accept_edits: ("Accept edits", "Changes of files that can be undone are not asked about."),
    ApprovalMode.plan: ("Plan", "Nothing is changed; the agent ends with a plan that you accept or refuse."),
}


def modes(current: ApprovalMode) -> SessionModeState:
    """Return the approval modes as the editor's modes. A session's tool mode is not among them: it never changes."""
    return SessionModeState(
        current_mode_id=current.value,
        available_modes=[
            SessionMode(id=mode.value, name=name, description=about) for mode, (name, about) in _MODES.items()
        ],
    )


async def options(session: Session, models: ModelSource) -> list[SessionConfigOptionSelect]:
    """Return the choice of the model; nothing if there is only one."""
    found, _ = await models.catalog()
    names = {f"{provider}:{info.name}": info.label for provider, info in found}
    current = session.model or models.default_id
    names.setdefault(current, current)
    if len(names) < 2:
        return []
    values = [SessionConfigSelectOption(value=name, name=label) for name, label in names.items()]
    return [
        SessionConfigOptionSelect(
            type="select", id=MODEL, name="Model", category="model", current_value=current, options=values
        )
    ]
