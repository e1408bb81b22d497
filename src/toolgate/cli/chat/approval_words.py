"""Approval modes in words for a person at a terminal."""

from toolgate.language.translate import translatable
from toolgate.protocol.modes import ApprovalMode

APPROVAL_WORDS = {
    ApprovalMode.ask: translatable("asks for approval"),
    ApprovalMode.accept_edits: translatable("accepts edits"),
    ApprovalMode.plan: translatable("plans only"),
}
"""What is always visible beside the prompt."""
APPROVAL_HELP = {
    ApprovalMode.ask: translatable("You are asked about every call that needs approval."),
    ApprovalMode.accept_edits: translatable("Edits inside the project that undo can take back run without asking."),
    ApprovalMode.plan: translatable(
        "Nothing is changed; the agent reads, and proposes a plan that you accept, edit or refuse."
    ),
}
