"""Approval requests: what a person is asked about a call, and the answer."""

from typing import Literal

from pydantic import BaseModel, ConfigDict, StrictBool

from toolgate.protocol.modes import ApprovalMode

_FROZEN = ConfigDict(frozen=True, extra="forbid", defer_build=True)

ChoiceId = Literal["call", "file", "folder", "command", "prefix"]
"""What can be remembered: this exact call, edits to this file, edits in this folder, this command with any arguments,
commands that begin with these words."""
Scope = Literal["session", "project"]
"""How long it is remembered: for this session, or in the user's own policy file for this project."""
Risk = Literal["low", "medium", "high"]
ASK_TOOL = "ask_user"
"""The tool whose approval request is a question."""


class ApprovalChoice(BaseModel):
    """One rule that a person may have remembered with a yes."""

    model_config = _FROZEN

    id: ChoiceId
    label: str
    """The rule in plain words: "edits in src"."""
    rule: str
    """Exactly what would be stored: the rules as TOML, or the description of the exact call."""
    scopes: tuple[Scope, ...] = ("session",)


class Question(BaseModel):
    """A question of the model that the person answers with a text (`ask_user`), not with yes or no."""

    model_config = _FROZEN

    text: str
    options: tuple[str, ...] = ()
    """Suggested answers. The person may always give another one."""


class ApprovalRequest(BaseModel):
    """One question, bound by its fingerprint to exactly one plan."""

    model_config = _FROZEN

    id: str
    tool_name: str
    call_id: str
    session_id: str | None = None
    agent: str = ""
    """The sub-agent that asks; empty for the main one."""
    summary: str
    detail: str
    fingerprint: str
    reason: str = ""
    """Why a person is asked: the rule, or what is dangerous about it."""
    rule: str = ""
    """What `remember` alone would allow from now on: the rule of the choice `call`."""
    deadline: float | None = None
    """When it counts as answered with no, in seconds since the epoch; None: it waits."""
    sentence: str = ""
    """One sentence of what will happen."""
    risk: Risk = "medium"
    labels: tuple[str, ...] = ()
    """Why it is asked about, as short labels."""
    choices: tuple[ApprovalChoice, ...] = ()
    """What may be remembered; empty if the call is asked about every time."""

    question: Question | None = None
    """Set if an answer is wanted, not a permission: `Approval.text` has it, and `allowed: false` declines to answer."""

    def choice(self, choice_id: str) -> ApprovalChoice | None:
        """The choice of that id, if it is offered."""
        return next((choice for choice in self.choices if choice.id == choice_id), None)


class Approval(BaseModel):
    """The answer."""

    model_config = _FROZEN

    allowed: StrictBool
    message: str = ""
    """Reaches the model when the answer is no."""
    remember: StrictBool = False
    """Remember the rule of `choice`."""
    choice: ChoiceId | None = None
    """Which of the request's choices is remembered; None: this exact call, if it can be."""
    scope: Scope = "session"
    approval_mode: ApprovalMode | None = None
    """The answer to a plan: the approval mode that the session goes on in."""
    text: str = ""
    """The answer to a question; the answer to a plan: the plan as the person edited it."""
