"""`Plan`: what a call is going to do, known before a person is asked."""

import hashlib
import json
from typing import Any, Literal

from pydantic import BaseModel, ConfigDict, Field

from toolgate.protocol.approval import Question

Access = Literal["read", "write", "full"]
"""What a call may touch: read the root, change the root, or more than the root (which always asks)."""


class Precondition(BaseModel):
    """Something that was true when the plan was made and must still be true when it runs."""

    model_config = ConfigDict(frozen=True, extra="forbid", defer_build=True)

    resource: str
    """A path relative to the root."""
    state: str
    """`Workspace.state(resource)` at the time of planning."""


class Plan(BaseModel):
    """The outcome of `Tool.prepare`: nothing has changed yet, and this is all that will."""

    model_config = ConfigDict(frozen=True, extra="forbid", defer_build=True, arbitrary_types_allowed=True)

    summary: str
    """One line for the person who is asked."""
    detail: str = ""
    """The exact diff or command; rendered from what will run, never from what the model says about it."""
    access: Access = "write"
    resources: tuple[str, ...] = ()
    """The paths, relative to the root, that the call will touch."""
    preconditions: tuple[Precondition, ...] = ()
    checks_preconditions: bool = Field(default=False, exclude=True)
    """Whether `execute` itself checks the preconditions at the moment of its effect. Then the runtime does not check
    them before."""
    commands: tuple[tuple[str, ...], ...] = ()
    """The words of every simple command that may run (Bash); policy rules match on them."""
    harmless: tuple[tuple[str, ...], ...] = ()
    """Those of `commands` that need no rule to be allowed."""
    plain: bool = False
    """Whether the call does nothing besides `commands`: no redirection, assignment or anything unresolved. Only then do
    rules that allow each command allow the call."""
    suspects: tuple[tuple[str, ...], ...] = ()
    """The words of programs that are not known (Bash): a rule against one of them asks."""
    asks: bool = False
    """Whether the analysis wants a person to decide, whatever the tool's default is."""
    unconfined: bool = False
    """Whether the sandbox cannot enforce `access`. A person is then asked, and no rule that allows can prevent it."""
    reason: str = ""
    """Why it asks."""
    reveals: tuple[str, ...] = ()
    """Files that may hold secrets and whose content the call shows. It asks, unless a rule allows reading them."""
    reversible: bool = False
    """Whether undo can restore everything that the call changes. The approval mode `accept_edits` lets it run without
    asking, unless a rule asks."""
    prefixes: tuple[tuple[str, ...], ...] = ()
    """First words of the command that a person may be offered to allow from now on, with any words after them; empty
    if only the exact call can be remembered."""
    once: str = ""
    """Why an approval is for this one call and cannot be remembered: something is only known when it runs."""
    question: Question | None = Field(default=None, exclude=True)
    """The question, if the person is asked for an answer. No rule can answer it. It is part of the arguments."""
    payload: Any = Field(default=None, exclude=True, repr=False)
    """What `prepare` hands to `execute`; private to the tool."""

    def fingerprint(self, tool_name: str, arguments: dict[str, Any]) -> str:
        """The hash that an approval is bound to: the tool, its arguments and everything that was shown."""
        document = [tool_name, arguments, self.model_dump(mode="json")]
        encoded = json.dumps(document, sort_keys=True, ensure_ascii=True, separators=(",", ":"))
        return hashlib.sha256(encoded.encode()).hexdigest()
