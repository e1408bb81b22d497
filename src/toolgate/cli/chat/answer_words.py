"""How an approval request or a question was answered, as the line below it."""

from __future__ import annotations

from typing import TYPE_CHECKING

from toolgate.cli.visible import prose
from toolgate.language.translate import translate

if TYPE_CHECKING:
    from toolgate.cli.chat.canvas import Canvas


def answer_line(canvas: Canvas, allowed: bool, message: str, *, is_question: bool) -> str:
    """Draw the answer. What the person said to a question is in its card."""
    words = f": {prose(message)}" if message and not allowed else ""
    if is_question:
        said = translate("✓ answered") if allowed else translate("⊘ not answered{words}", words=words)
    else:
        said = translate("✓ allowed") if allowed else translate("⊘ denied{words}", words=words)
    return canvas.line("  ", (said, "green" if allowed else "yellow"))
