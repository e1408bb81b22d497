"""The chat's commands for the whole session: go back, fork, what changed, export, status."""

from __future__ import annotations

import json
import os
import re
from typing import TYPE_CHECKING, Any

from toolgate.cli.chat.approval_words import APPROVAL_WORDS
from toolgate.cli.errors import UsageError
from toolgate.cli.visible import visible
from toolgate.userfiles import write_new_file
from toolgate.workspace.threads import in_thread

if TYPE_CHECKING:
    from toolgate.cli.chat.conversation import Conversation
    from toolgate.cli.chat.slash_commands import CommandHost
    from toolgate.sessions import Session

_LISTED = 20
_SHOWN = 90


class SessionCommands:
    """Commands that are about the whole session."""

    _conversation: Conversation
    _host: CommandHost

    def _started(self, what: str) -> Session:
        """Return the session, or say that there is none."""
        session = self._conversation.session
        if session is None:
            raise UsageError(f"this session has no message yet, so there is nothing to {what}")
        return session

    async def _said(self, session: Session) -> list[tuple[int, str]]:
        """Return the person's messages in the conversation, with their numbers in the log."""
        from toolgate.sessions.record import conversation, read_events

        events = conversation(await read_events(self._conversation.stack.sessions, session.id))
        return [
            (event.seq, event.payload["content"])
            for event in events
            if event.kind == "message" and event.payload["role"] == "user"
        ]

    async def _chosen(self, typed: str, session: Session, verb: str) -> tuple[int, str] | None:
        """Return the message that a number names; without a number, list them."""
        said = await self._said(session)
        if not typed:
            for number, (_, content) in list(enumerate(said, 1))[-_LISTED:]:
                self._host.say(f"{number:>3}  {visible(' '.join(content.split()), keep='')[:_SHOWN]}")
            self._host.say(f"/{verb} N goes back to before message N.", "dim")
            return None
        if not typed.isdecimal() or not 1 <= int(typed) <= len(said):
            raise UsageError(f"/{verb} takes the number of a message, 1 to {len(said)}; /rewind lists them")
        return said[int(typed) - 1]

    async def _rewind(self, rest: str) -> None:
        from toolgate.agent.rewind import rewind_with_files

        session, words = self._started("go back to"), rest.split()
        if len(words) > 1 and words[1:] != ["files"]:
            raise UsageError("/rewind takes the number of a message, and the word files to take them back, too")
        chosen = await self._chosen(words[0] if words else "", session, "rewind")
        if chosen is None:
            return
        stack = self._conversation.stack
        if len(words) > 1:
            files = await rewind_with_files(stack.sessions, stack.workspace, session.id, chosen[0])
            self._tell(files.restored, files.refused)
        else:
            await stack.sessions.rewind(session.id, chosen[0])
        self._host.say(f"Went back to before: {visible(' '.join(chosen[1].split()), keep='')[:_SHOWN]}", "dim")
        note = "What commands changed stays." if len(words) > 1 else "Files stay as they are."
        self._host.say(f"{note} The log keeps what was removed.", "dim")

    async def _fork(self, rest: str) -> None:
        session = self._started("fork")
        chosen = await self._chosen(rest, session, "fork") if rest else None
        stack = self._conversation.stack
        made = await stack.sessions.fork(session.id, None if chosen is None else chosen[0])
        await self._conversation.resume(made)
        self._host.say(f"This is now a new session. /resume {session.id[:13]} returns to the first one.", "dim")
        await self._host.recall()

    async def _diff(self, rest: str) -> None:
        from toolgate.workspace.changes import changed_files

        session, stack = self._started("show"), self._conversation.stack
        changed = await in_thread(changed_files, stack.workspace, set(await stack.sessions.family(session.id)))
        wanted = [file for file in changed if not rest or file.path == stack.workspace.relative(rest)]
        if not wanted:
            where = f" in {visible(rest, keep='')}" if rest else ""
            self._host.say(f"Nothing was changed{where} in this session, or it was taken back.", "dim")
        for file in wanted:
            self._host.say(f"{file.kind} {visible(file.path, keep='')}  +{file.added} −{file.removed}", "bold")
            self._host.show_diff("\n".join(file.diff.split("\n")[2:]).rstrip("\n"))

    async def undo_file(self, path: str) -> None:
        """Take back everything that the session has changed in one file."""
        from toolgate.agent.rewind import undo_changes

        session, stack = self._started("take back"), self._conversation.stack
        files = await undo_changes(stack.sessions, stack.workspace, session.id, path=path)
        if not files.restored and not files.refused:
            raise UsageError(f"/undo takes call, turn, session, or a file that was changed; {path!r} was not")
        self._tell(files.restored, files.refused)

    def _tell(self, restored: list[str], refused: list[tuple[str, str]]) -> None:
        for path in restored:
            self._host.say(f"taken back  {visible(path, keep='')}", "dim")
        for path, reason in refused:
            self._host.say(f"left as it is  {visible(path, keep='')}: {reason}", "yellow")

    async def _export(self, rest: str) -> None:
        from toolgate.sessions.markdown import as_markdown
        from toolgate.sessions.record import read_record

        sessions, words = self._conversation.stack.sessions, rest.split(maxsplit=1)
        session = await sessions.get(self._started("export").id)  # its title came with the first message
        form = words.pop(0) if words and words[0] in ("markdown", "json") else "markdown"
        stem = re.sub(r"[^\w-]+", "-", session.title.casefold()).strip("-")[:60] or f"session-{session.id[:8]}"
        path = words[0] if words else f"{stem}.{'md' if form == 'markdown' else 'json'}"
        record = await read_record(sessions, session)
        text = (
            as_markdown(record) if form == "markdown" else json.dumps(record.document(), ensure_ascii=False, indent=2)
        )
        try:
            write_new_file(os.path.expanduser(path), text)
        except OSError as error:
            raise UsageError(f"{path}: {error.strerror}; name another file: /export {form} FILE") from None
        self._host.say(f"Saved to {visible(path, keep='')}.", "dim")

    async def _status(self, _rest: str) -> None:
        conversation = self._conversation
        stack, session = conversation.stack, conversation.session
        used = f"{conversation.input_tokens:,} tokens in, {conversation.output_tokens:,} out"
        rows: list[tuple[str, Any]] = [
            ("project", stack.workspace.root),
            ("mode", conversation.mode.value),
            ("approvals", APPROVAL_WORDS[conversation.approval_mode]),
            ("model", conversation.model_name),
            ("session", session.id if session is not None else "starts with the first message"),
            ("title", (await stack.sessions.get(session.id)).title if session is not None else ""),
            ("used", f"{used}, context {conversation.context_share:.0%}"),
            ("settings", "coding enabled" if stack.settings.session.coding_enabled else "coding not enabled"),
        ]
        for name, value in rows:
            if str(value):
                self._host.say(f"  {name:<9} {visible(str(value), keep='')}")
