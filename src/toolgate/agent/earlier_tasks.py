"""Looks up tasks of sub-agents that were started earlier: their session, their agent and their answer."""

from __future__ import annotations

from collections import Counter
from typing import Any

from toolgate.errors import SessionError, ToolError
from toolgate.protocol.codes import ErrorCode
from toolgate.sessions import Session, SessionStore


async def task_session(sessions: SessionStore, parent_id: str, task_id: str) -> Session:
    """The session of a task that this parent has started. Sessions of other parents count as missing."""
    try:
        session = await sessions.get(task_id)
    except SessionError:
        session = None
    if session is None or session.parent_id != parent_id:
        raise ToolError(
            ErrorCode.NOT_FOUND,
            f"There is no task {task_id[:80]!r} of this agent.",
            "Use the id that 'task' answered with, or start a new one.",
        )
    return session


async def agent_of(sessions: SessionStore, session: Session) -> str:
    """The name of the sub-agent that a task was given to, from the log of its parent."""
    after = 0
    while events := await sessions.events(str(session.parent_id), after):
        for event in events:
            if event.kind == "agent_started" and event.payload.get("session_id") == session.id:
                return str(event.payload["agent"])
        after = events[-1].seq
    return ""


async def stored_state(sessions: SessionStore, session: Session, *, running: bool) -> dict[str, Any]:
    """The stored state of a task: its calls so far while it runs, else its answer."""
    calls = Counter(call.tool_name for call in await sessions.calls(session.id))
    summary = [{"tool": tool, "calls": count, "errors": 0} for tool, count in calls.items()]
    turns = await sessions.turns(session.id)
    status = turns[-1].status if turns else "running"
    if running or status == "running":
        return {"task_id": session.id, "running": True, "tool_summary": summary}
    answers = [message.content for message in await sessions.messages(session.id) if message.role == "assistant"]
    answer = answers[-1] if answers and status == "done" else ""
    if not answer.strip():
        raise ToolError(
            ErrorCode.EXECUTION_ERROR,
            f"The task {session.id} ended without an answer ({status}).",
            "Resume it with a prompt, or do the work yourself.",
        )
    return {"task_id": session.id, "result": answer, "tool_summary": summary}
