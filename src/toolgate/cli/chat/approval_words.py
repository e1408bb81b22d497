"""Approval modes in words for a person at a terminal."""

from toolgate.protocol.modes import ApprovalMode

APPROVAL_WORDS = {
    ApprovalMode.ask: "asks about everything",
    ApprovalMode.accept_edits: "accepts edits",
    ApprovalMode.plan: "plans only",
}
"""What is always visible beside the prompt."""
APPROVAL_HELP = {
    ApprovalMode.ask: "You are asked about every call that needs approval.",
    ApprovalMode.accept_edits: "Edits inside the project that undo can take back run without asking.",
    ApprovalMode.plan: "Nothing is changed; the agent reads, and proposes a plan that you accept, edit or refuse.",
}
