"""The chat's commands for the whole session: go back, fork, what changed, export, status."""

from __future__ import annotations

import json
import os
import re
from typing import TYPE_CHECKING, Any

from toolgate.cli.chat.approval_words import APPROVAL_WORDS
from toolgate.cli.errors import UsageError
from toolgate.cli.visible import visible
from toolgate.language.translate import translatable, translate
from toolgate.userfiles import write_new_file
from toolgate.workspace.threads import in_thread

if TYPE_CHECKING:
    from toolgate.cli.chat.conversation import Conversation
    from toolgate.cli.chat.slash_commands import CommandHost
    from toolgate.sessions import Session

_LISTED = 20
_MAX_SHOWN = 90


class SessionCommands:
    """Commands that are about the whole session."""

    _conversation: Conversation
    _host: CommandHost

    def _started(self, what: str) -> Session:
        """Return the session, or say that there is none."""
        session = self._conversation.session
        if session is None:
            raise UsageError(
                translate("this session has no message yet, so there is nothing to {what}", what=translate(what))
            )
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
                self._host.say(f"{number:>3}  {visible(' '.join(content.split()), keep='')[:_MAX_SHOWN]}")
            self._host.say(translate("/{verb} N goes back to before message N.", verb=verb), "dim")
            return None
        if not typed.isdecimal() or not 1 <= int(typed) <= len(said):
            raise UsageError(
                translate(
                    "/{verb} takes the number of a message, 1 to {count}; /rewind lists them",
                    verb=verb,
                    count=len(said),
                )
            )
        return said[int(typed) - 1]

    async def _rewind(self, rest: str) -> None:
        from toolgate.agent.rewind import rewind_with_files

        session, words = self._started(translatable("go back to")), rest.split()
        if len(words) > 1 and words[1:] != ["files"]:
            raise UsageError(
                translate("/rewind takes the number of a message, and the word files to take them back, too")
            )
        chosen = await self._chosen(words[0] if words else "", session, "rewind")
        if chosen is None:
            return
        stack = self._conversation.stack
        if len(words) > 1:
            files = await rewind_with_files(stack.sessions, stack.workspace, session.id, chosen[0])
            self._tell(files.restored, files.refused)
        else:
            await stack.sessions.rewind(session.id, chosen[0])
        self._host.say(
            translate(
                "Went back to before: {chosen}", chosen=visible(" ".join(chosen[1].split()), keep="")[:_MAX_SHOWN]
            ),
            "dim",
        )
        note = translate("What commands changed stays.") if len(words) > 1 else translate("Files stay as they are.")
        self._host.say(translate("{note} The log keeps what was removed.", note=note), "dim")

    async def _fork(self, rest: str) -> None:
        session = self._started(translatable("fork"))
        chosen = await self._chosen(rest, session, "fork") if rest else None
        stack = self._conversation.stack
        made = await stack.sessions.fork(session.id, None if chosen is None else chosen[0])
        await self._conversation.resume(made)
        self._host.say(
            translate("This is now a new session. /resume {id} returns to the first one.", id=session.id[:13]), "dim"
        )
        await self._host.recall()

    async def _diff(self, rest: str) -> None:
        from toolgate.workspace.changes import changed_files

        session, stack = self._started(translatable("show")), self._conversation.stack
        changed = await in_thread(changed_files, stack.workspace, set(await stack.sessions.family(session.id)))
        wanted = [file for file in changed if not rest or file.path == stack.workspace.relative(rest)]
        if not wanted:
            where = translate(" in {rest}", rest=visible(rest, keep="")) if rest else ""
            self._host.say(
                translate("Nothing was changed{where} in this session, or it was taken back.", where=where), "dim"
            )
        for file in wanted:
            self._host.say(f"{file.kind} {visible(file.path, keep='')}  +{file.added} −{file.removed}", "bold")
            self._host.show_diff("\n".join(file.diff.split("\n")[2:]).rstrip("\n"))

    async def undo_file(self, path: str) -> None:
        """Take back everything that the session has changed in one file."""
        from toolgate.agent.rewind import undo_changes

        session, stack = self._started(translatable("take back")), self._conversation.stack
        files = await undo_changes(stack.sessions, stack.workspace, session.id, path=path)
        if not files.restored and not files.refused:
            raise UsageError(
                translate(
                    "/undo takes call, turn, session, or a file that was changed; {path} was not", path=repr(path)
                )
            )
        self._tell(files.restored, files.refused)

    def _tell(self, restored: list[str], refused: list[tuple[str, str]]) -> None:
        for path in restored:
            self._host.say(translate("taken back  {path}", path=visible(path, keep="")), "dim")
        for path, reason in refused:
            self._host.say(
                translate("left as it is  {path}: {reason}", path=visible(path, keep=""), reason=reason), "yellow"
            )

    async def _export(self, rest: str) -> None:
        from toolgate.sessions.markdown import as_markdown
        from toolgate.sessions.record import read_record

        sessions, words = self._conversation.stack.sessions, rest.split(maxsplit=1)
        session = await sessions.get(self._started(translatable("export")).id)  # its title came with the first message
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
            raise UsageError(
                translate(
                    "{path}: {strerror}; name another file: /export {form} FILE",
                    path=path,
                    strerror=error.strerror,
                    form=form,
                )
            ) from None
        self._host.say(translate("Saved to {path}.", path=visible(path, keep="")), "dim")

    async def _status(self, _rest: str) -> None:
        conversation = self._conversation
        stack, session = conversation.stack, conversation.session
        used = translate(
            "{input_tokens} tokens in, {output_tokens} out",
            input_tokens=f"{conversation.input_tokens:,}",
            output_tokens=f"{conversation.output_tokens:,}",
        )
        rows: list[tuple[str, Any]] = [
            (translate("project"), stack.workspace.root),
            (translate("mode"), conversation.mode.value),
            (translate("approvals"), translate(APPROVAL_WORDS[conversation.approval_mode])),
            (translate("model"), conversation.model_name),
            (translate("session"), session.id if session is not None else translate("starts with the first message")),
            (translate("title"), (await stack.sessions.get(session.id)).title if session is not None else ""),
            (
                translate("used"),
                translate(
                    "{used}, context {context_share}", used=used, context_share=f"{conversation.context_share:.0%}"
                ),
            ),
            (
                translate("settings"),
                translate("coding enabled")
                if stack.settings.session.coding_enabled
                else translate("coding not enabled"),
            ),
        ]
        for name, value in rows:
            if str(value):
                self._host.say(f"  {name:<9} {visible(str(value), keep='')}")
