"""The first lines of a chat: the project, what to try, and the end of a continued session."""

from __future__ import annotations

import os
from typing import TYPE_CHECKING, Any

from toolgate.cli.chat.markdown import draw_markdown
from toolgate.cli.chat.tool_card import describe_call
from toolgate.cli.visible import prose, visible
from toolgate.errors import ToolError
from toolgate.language.translate import translate
from toolgate.protocol.choices import PROVIDERS
from toolgate.protocol.content import StoredImage, described
from toolgate.protocol.modes import ToolMode

if TYPE_CHECKING:
    from toolgate.cli.chat.canvas import Canvas
    from toolgate.cli.chat.conversation import Conversation
    from toolgate.compose import Stack
    from toolgate.sessions import Event

_RECAP_MESSAGES = 6
"""Number of messages that are shown of a continued session."""
_SESSIONS = 20
_HISTORY = 500
_EXAMPLES = {
    ToolMode.coding: ("read_file path=README.md", "Bash ls", 'grep {"pattern": "TODO"}'),
    ToolMode.chat_safe: ("current_time timezone=Europe/Paris", "memory_append content='I like tea'"),
}


def welcome(canvas: Canvas, conversation: Conversation) -> list[str]:
    """Describe the project, the mode and the model; without a model, how to set one up."""
    root = str(conversation.stack.workspace.root)
    home = os.environ.get("HOME", "")
    where = f"~{root[len(home) :]}" if len(home) > 1 and root.startswith(f"{home}/") else root
    mode = conversation.mode
    facts = canvas.line(
        ("toolgate", "bold cyan"),
        (f"  {visible(where, keep='')}", ""),
        (f" · {mode.value}", "green" if mode is ToolMode.chat_safe else "yellow"),
        (f" · {visible(conversation.model_name, keep='')}{_confinement(conversation)} · /help", "dim"),
    )
    return [facts, *(_without_model(canvas, mode) if conversation.is_offline else [])]


def _confinement(conversation: Conversation) -> str:
    """Describe what confines commands, if there are any."""
    if conversation.mode is not ToolMode.coding:
        return ""
    from toolgate.shell import ShellSession

    shell = ShellSession(conversation.stack.workspace, settings=conversation.stack.settings)
    try:
        report = shell.sandbox()
    except ToolError as error:
        return translate(" · no sandbox: {message}", message=error.message)
    return translate(
        " · sandbox {layer}{value}", layer=report.layer, value="" if report.network else translate(", no network")
    )


def _without_model(canvas: Canvas, mode: ToolMode) -> list[str]:
    lines = [
        "",
        *canvas.wrapped(
            (translate("No language model is configured"), "bold"),
            translate(", so there are no answers in words yet. "),
            ("/model", "cyan"),
            translate(" sets one up now: OpenAI, Anthropic, or a server of your own. Or leave and set"),
        ),
        *_keys(canvas),
        canvas.line(translate("Meanwhile call the tools yourself, through the same gates as a model. Try:")),
    ]
    lines += [canvas.line("  ", (example, "green")) for example in _EXAMPLES[mode]]
    if mode is ToolMode.chat_safe:
        lines.append(canvas.line((translate("Files and commands need coding mode: toolgate chat --coding"), "dim")))
    return lines


def _keys(canvas: Canvas) -> list[str]:
    """Return one line per environment variable that sets up a model."""
    providers = [provider for provider in PROVIDERS.values() if provider.key]
    lines = []
    for provider in providers:
        servers = ""
        if provider.compatible:
            servers = translate(
                "(and {address} for any compatible server, a local one too), ", address=provider.address
            )
        more = translate("or name one: toolgate chat --model NAME") if provider is providers[-1] else translate("or")
        lines.append(canvas.line("  ", (provider.key, "cyan"), " " * (21 - len(provider.key)), servers + more))
    return lines


async def message_history(stack: Stack) -> list[str]:
    """Return what the person wrote in earlier sessions, oldest first, with this project's messages last."""
    sessions = await stack.sessions.list(user=stack.user, limit=_SESSIONS)
    sessions.sort(key=lambda session: (session.project == stack.project, session.updated_at))
    said: list[str] = []
    for session in sessions:
        history = await stack.sessions.history(session.id)
        said += [message.content for message in history if message.role == "user" and message.content]
    return list(dict.fromkeys(reversed(said[-_HISTORY:])))[::-1]


async def session_recap(canvas: Canvas, conversation: Conversation) -> list[str]:
    """Return the end of the continued session."""
    session = conversation.session
    assert session is not None
    shown = await _shown_events(conversation, session.id)
    history = [event for event in shown if event.kind == "message"]
    turns = await conversation.stack.sessions.turns(session.id)
    title = visible(session.title, keep="") or translate("a session without a title")
    lines = [
        "",
        canvas.line(
            (translate("Continuing "), "dim"),
            title,
            (translate(" · {value} · {count} turns", value=session.mode.value, count=len(turns)), "dim"),
        ),
    ]
    since, more = 0, len(history) - _RECAP_MESSAGES
    if more > 0:
        since = history[-_RECAP_MESSAGES].seq
        note = translate("… {count} earlier messages: toolgate sessions show {id}", count=more, id=session.id)
        lines.append(canvas.line((note, "dim")))
    for event in shown:
        if event.seq >= since:
            lines += _earlier_event(canvas, event)
    if await _created_mode(conversation) is not session.mode:
        words = translate("It was started in coding; without --coding it continues in chat_safe.")
        lines += ["", canvas.line((words, "yellow"))]
    if turns and turns[-1].status not in ("done", "running"):
        lines += ["", canvas.line((translate("The last turn is {status}.", status=turns[-1].status), "yellow"))]
    return lines


async def _shown_events(conversation: Conversation, session_id: str) -> list[Event]:
    """Return what was said in a session and the calls that ended, each with the arguments that it was asked with."""
    from toolgate.sessions.record import conversation as without_rewound
    from toolgate.sessions.record import read_events

    asked: dict[str, Any] = {}
    shown: list[Event] = []
    for event in without_rewound(await read_events(conversation.stack.sessions, session_id)):
        payload = event.payload
        if event.kind == "call_proposed":
            asked[payload["call_id"]] = payload["arguments"]
        elif event.kind == "call_finished":
            about = {**payload, "arguments": asked.get(payload["call_id"], "")}
            shown.append(event.model_copy(update={"payload": about}))
        elif event.kind == "message" and payload["role"] in ("user", "assistant") and payload["content"].strip():
            shown.append(event)
    return shown


def _earlier_event(canvas: Canvas, event: Event) -> list[str]:
    """Draw a message or a call of an earlier turn."""
    payload = event.payload
    if event.kind == "call_finished":
        return [_earlier_card(canvas, payload)]
    if payload["role"] != "user":
        return ["", *draw_markdown(canvas, payload["content"])]
    images = [StoredImage(**image) for image in payload.get("images") or ()]
    names = [canvas.line((f"  ▣ {visible(described([image]), keep='')}", "dim")) for image in images]
    return ["", *draw_prompt(canvas, payload["content"]), *names]


def _earlier_card(canvas: Canvas, payload: dict[str, Any]) -> str:
    """Draw a call of an earlier turn in one line."""
    good, code = payload.get("status") != "error", (payload.get("data") or {}).get("exit_code")
    good = good and code in (0, None)
    how = translate("exit {code}", code=code) if code is not None else payload.get("code") or ""
    return canvas.line(
        ("✓" if good else "✗", "green" if good else "yellow"),
        " ",
        (visible(payload["tool_name"], keep=""), "bold"),
        f" {describe_call(payload['arguments'])}",
        (f"  {how}" if how else "", "dim"),
    )


def draw_prompt(canvas: Canvas, text: str) -> list[str]:
    """Draw what a person wrote as it looked at the prompt."""
    return [canvas.line(("❯ ", "cyan"), row) for row in prose(text).split("\n")]


async def _created_mode(conversation: Conversation) -> ToolMode:
    """Return the mode that the session was created with, whatever is enabled now."""
    from toolgate.sessions import SessionManager

    stack, session = conversation.stack, conversation.session
    assert session is not None
    opened = stack.settings.session.model_copy(update={"coding_enabled": True})
    return (await SessionManager(stack.database, opened).get(session.id)).mode
