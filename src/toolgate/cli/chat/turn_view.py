"""Draws a turn: its events become permanent lines, with a few live rows below them."""

from __future__ import annotations

import asyncio
import time
from typing import TYPE_CHECKING, Any

from toolgate.agent.events import (
    Activity,
    AgentEvent,
    ApprovalRequested,
    ApprovalResolved,
    Compacted,
    ModelRetry,
    TextChunk,
    ToolCallInfo,
    ToolOutput,
    ToolResultInfo,
    TurnDone,
    TurnFailed,
)
from toolgate.cli.chat.answer_words import answer_line
from toolgate.cli.chat.approval_words import APPROVAL_WORDS
from toolgate.cli.chat.markdown import MarkdownStream
from toolgate.cli.chat.pictures import prepared
from toolgate.cli.chat.retry_words import describe_retry
from toolgate.cli.chat.task_cards import TaskCards, activity_words
from toolgate.cli.chat.tool_card import ToolCard, duration
from toolgate.cli.chat.typed_ahead import TypedAhead
from toolgate.cli.visible import prose
from toolgate.language.translate import translate
from toolgate.protocol.calls import ToolDenied

if TYPE_CHECKING:
    from toolgate.cli.chat.approval_prompt import ApprovalPrompt
    from toolgate.cli.chat.canvas import Canvas
    from toolgate.cli.chat.conversation import Conversation
    from toolgate.cli.chat.live_region import LiveRegion

_SPINNER = "⠋⠙⠹⠸⠼⠴⠦⠧⠇⠏"
_SPINNER_SECONDS = 0.1
_SUMMARY_ROWS = 20
"""Rows of a summary that are shown."""
_MIN_REDRAW_SECONDS = 0.03
"""Minimum seconds between two redraws; more if drawing is slow."""


class TurnView:
    """Shows one turn after the other."""

    def __init__(
        self, canvas: Canvas, region: LiveRegion, approval_prompt: ApprovalPrompt, conversation: Conversation
    ) -> None:
        self._canvas = canvas
        self._region = region
        self._approval_prompt = approval_prompt
        self._conversation = conversation
        self._text: MarkdownStream | None = None
        self._open: dict[str, ToolCard] = {}
        self._tasks = TaskCards()
        self._asked: dict[str, tuple[ToolCard | None, float, bool]] = {}
        """The card of the call that was asked about, since when, and whether it is a question of the model."""
        self._kind = ""
        self._began = self._waited_before = 0.0
        self._changed = asyncio.Event()
        self._stopping = False
        self._activity = ""
        """What the turn does, where it neither thinks nor writes."""
        self._retry_at = 0.0
        """When the model is asked again."""
        self.cards: list[ToolCard] = []
        """All calls of this chat, in order."""
        self.typed_ahead = TypedAhead()
        """Input that is typed meanwhile."""
        approval_prompt.print = lambda lines: self._print("question", lines)
        approval_prompt.changed = self._changed.set

    def begin(self) -> None:
        """Start a turn."""
        self._text, self._open, self._kind = None, {}, ""
        self._tasks.begin_turn()
        self._stopping = False
        self._activity = ""
        self._began = time.monotonic()
        self._waited_before = self._approval_prompt.seconds_waited

    def stopping(self) -> None:
        """Show that the person has cancelled the turn."""
        self._stopping = True
        self._changed.set()

    def refresh(self) -> None:
        """Redraw after the terminal's size has changed."""
        self._changed.set()

    async def animate(self) -> None:
        """Keep the live rows up to date until cancelled."""
        while True:
            begin = time.perf_counter()
            self._draw()
            await asyncio.sleep(max(_MIN_REDRAW_SECONDS, 4 * (time.perf_counter() - begin)))
            try:
                async with asyncio.timeout(_SPINNER_SECONDS):
                    await self._changed.wait()
            except TimeoutError:
                pass  # time for the next spinner frame
            self._changed.clear()

    async def prepare(self, event: AgentEvent) -> None:
        """Make the pictures of a result ready for this terminal, before it is shown."""
        if isinstance(event, ToolResultInfo) and event.result.content and (card := self._open.get(event.call_id)):
            card.pictures = await prepared(event.result.content, self._canvas.graphics)

    def show(self, event: AgentEvent) -> None:
        """Handle one event."""
        if not isinstance(event, ToolOutput):
            self._activity = ""
        if isinstance(event, TextChunk):
            self._say(event.content)
        else:
            self._finish_text()
            self._handle(event)
        self._changed.set()

    def end(self) -> None:
        """End the turn."""
        self._finish_text()
        self._region.clear()

    def _handle(self, event: Any) -> None:
        if isinstance(event, ToolCallInfo):
            self._begin_call(event)
        elif isinstance(event, ToolOutput):
            if event.call_id in self._open:
                self._open[event.call_id].print(event.text)
            self._tasks.print(event.call_id, event.text)
        elif isinstance(event, ToolResultInfo):
            self._end_call(event.call_id, result=event.result)
        elif isinstance(event, ToolDenied):
            self._end_call(event.call_id, denied=event, advice=self._conversation.advice_on_mode)
        elif isinstance(event, ApprovalRequested):
            card, asked = self._open.get(event.request.call_id), event.request.question is not None
            self._asked[event.request.id] = (card, time.monotonic(), asked)
            self._region.bell()
            self._approval_prompt.reached(event.request.id)
        elif isinstance(event, ApprovalResolved):
            self._answered(event)
        elif isinstance(event, ModelRetry):
            self._retry_at, self._activity = time.monotonic() + event.seconds, describe_retry(event)
            words = f"· {self._activity.format(seconds=duration(event.seconds))}: {prose(event.message)}"
            self._print("note", [self._canvas.line((words, "dim yellow"))])
        elif isinstance(event, Activity):
            self._activity = activity_words(event.what, event.text)
        elif isinstance(event, Compacted):
            self._print("note", compaction_lines(self._canvas, event))
        elif isinstance(event, TurnDone):
            self._done(event)
        elif isinstance(event, TurnFailed):
            self._failed(event)

    def _begin_call(self, event: ToolCallInfo) -> None:
        now = time.monotonic()
        card = ToolCard(number=len(self.cards) + 1, name=event.tool_name, arguments=event.arguments, began=now)
        card.subject = self._tasks.subject(event.tool_name, event.arguments)
        if self._conversation.is_offline:
            card.body = max(10, self._canvas.rows - 8)  # there is no model that would describe the output
        self.cards.append(card)
        self._open[event.call_id] = card

    def _end_call(self, call_id: str, **how: Any) -> None:
        card = self._open.pop(call_id, None)
        if card is None:
            return
        for name, value in how.items():
            setattr(card, name, value)
        self._tasks.end_call(call_id, card)
        self._print("card", card.lines(self._canvas))

    def _answered(self, event: ApprovalResolved) -> None:
        card, since, is_question = self._asked.pop(event.request_id, (None, 0.0, False))
        if card is not None:
            card.asked = True
            card.paused += time.monotonic() - since
        if not self._approval_prompt.has_printed(event.request_id, event.allowed):
            line = answer_line(self._canvas, event.allowed, event.message, is_question=is_question)
            self._print("question", [line])

    def _done(self, event: TurnDone) -> None:
        conversation = self._conversation
        conversation.count(event)
        seconds_waited = self._approval_prompt.seconds_waited - self._waited_before
        parts = [duration(time.monotonic() - self._began - seconds_waited)]
        if event.usage.input_tokens or event.usage.output_tokens:
            parts += [
                translate("{input_tokens} tokens in", input_tokens=f"{event.usage.input_tokens:,}"),
                translate("{output_tokens} out", output_tokens=f"{event.usage.output_tokens:,}"),
            ]
        parts.append(translate("context {context_share}", context_share=f"{conversation.context_share:.0%}"))
        self._print("end", [self._canvas.line((" · ".join(parts), "dim"))])

    def _failed(self, event: TurnFailed) -> None:
        if event.code == "CANCELLED":
            words = [
                self._canvas.line(
                    (translate("◌ cancelled"), "yellow"), (translate(" · what was done so far is kept"), "dim")
                )
            ]
        else:
            words = self._canvas.lines(_failure(event))
        self._print("end", words)

    def _say(self, text: str) -> None:
        if self._is_echo(text):
            return
        if self._text is None:
            self._text = MarkdownStream(self._canvas)
        self._text.feed(text)

    def _is_echo(self, text: str) -> bool:
        """Whether the text repeats the last result, as the offline model does; it was just shown."""
        last = self.cards[-1] if self.cards and self._conversation.is_offline and not self._open else None
        if last is None or self._kind != "card" or not text.strip():
            return False
        output = last.result.output if last.result is not None else '{"ok":false'
        return text.startswith(output[:1000]) or (last.denied is not None and text.startswith("{"))

    def _finish_text(self) -> None:
        text, self._text = self._text, None
        if text is not None:
            self._print("text", text.close())

    def _draw(self) -> None:
        if self._text is not None:
            self._print("text", self._text.finished())
        self._region.show(self._live())

    def _live(self) -> list[str]:
        if self._approval_prompt.is_open:
            return [*self.typed_ahead.rows(self._canvas), "", *self._approval_prompt.live()]
        return [*self._live_rows(), *self.typed_ahead.rows(self._canvas)]

    def _live_rows(self) -> list[str]:
        now = time.monotonic()
        spinner = _SPINNER[int(now / _SPINNER_SECONDS) % len(_SPINNER)]
        text = self._text.live() if self._text is not None else []
        gap = [""] if text and self._kind not in ("", "text") else []
        beside = self._tasks.live(self._canvas, spinner)
        cards = [line for card in self._open.values() for line in card.live(self._canvas, spinner, now)]
        if cards:
            cards = [*beside, *cards]
            return [*gap, *text, "", *cards] if self._kind not in ("", "card") or text else cards
        word = self._activity_word(now, is_writing=bool(text))
        approvals = translate(APPROVAL_WORDS[self._conversation.approval_mode])
        took = duration(now - self._began) if now - self._began >= 1 else ""
        status = self._canvas.line(
            (spinner, "cyan"),
            (
                translate(
                    " {word} {took}{separator}Ctrl-C cancels · {approvals} (Shift-Tab)",
                    word=word,
                    took=took,
                    separator=" · " if took else "",
                    approvals=approvals,
                ),
                "dim",
            ),
        )
        return [*gap, *text, "", *beside, status]

    def _activity_word(self, now: float, *, is_writing: bool) -> str:
        """Return what the turn does at the moment, in a word or a few."""
        if self._stopping:
            return translate("stopping")
        if self._activity:
            return self._activity.format(seconds=duration(max(0.0, self._retry_at - now)))
        return translate("writing") if is_writing else translate("thinking")

    def _print(self, kind: str, lines: list[str]) -> None:
        """Print lines permanently, after a blank line if their kind has changed."""
        if not lines:
            return
        together = self._kind == kind or not self._kind
        self._kind = kind
        self._region.print(lines if together else ["", *lines], self._live())


def _failure(event: TurnFailed) -> Any:
    from rich.text import Text

    if not event.cause:
        return Text.assemble(("✗ ", "bold red"), (event.code, "bold red"), f" {prose(event.message)}")
    advice = f"\n  {prose(event.advice)}" if event.advice else ""
    return Text.assemble(("✗ ", "bold red"), (event.code, "red"), (f" {prose(event.cause)}", "bold"), (advice, "cyan"))


def compaction_lines(canvas: Canvas, event: Compacted) -> list[str]:
    """Draw what was left out, and the summary that stands for it."""
    sizes = translate(
        "{before_tokens} → {after_tokens} tokens",
        before_tokens=f"{event.before_tokens:,}",
        after_tokens=f"{event.after_tokens:,}",
    )
    if event.by != "model":
        return [canvas.line((translate("· older steps were left out: {sizes}", sizes=sizes), "dim"))]
    rows = prose(event.summary).split("\n")
    shown = [canvas.line((f"  {row}", "dim")) for row in rows[:_SUMMARY_ROWS]]
    more = [canvas.line(("  …", "dim"))] if len(rows) > _SUMMARY_ROWS else []
    head = translate("· the model has summarised the earlier part: {sizes} (/compact undo takes it back)", sizes=sizes)
    return [canvas.line((head, "dim")), *shown, *more]
