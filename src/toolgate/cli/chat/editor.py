"""The message editor at a terminal, with history, completion and multiple lines."""

from __future__ import annotations

from collections.abc import Awaitable, Callable, Iterable
from typing import TYPE_CHECKING

from toolgate.cli.chat.slash_commands import COMMANDS
from toolgate.cli.sh.line_source import EndOfInput
from toolgate.extras import optional_imports
from toolgate.language.translate import translate

with optional_imports():
    from prompt_toolkit import PromptSession
    from prompt_toolkit.application import run_in_terminal
    from prompt_toolkit.completion import Completer, Completion
    from prompt_toolkit.history import InMemoryHistory
    from prompt_toolkit.key_binding import KeyBindings
    from prompt_toolkit.styles import Style

if TYPE_CHECKING:
    from prompt_toolkit.completion import CompleteEvent
    from prompt_toolkit.document import Document
    from prompt_toolkit.formatted_text import StyleAndTextTuples
    from prompt_toolkit.key_binding import KeyPressEvent

_STYLE = Style.from_dict({"bottom-toolbar": "noreverse ansibrightblack", "prompt": "ansicyan bold"})


Complete = Callable[[str], list[str]]
"""Returns the paths that fit what was typed."""


OwnNames = Callable[[], list[tuple[str, str]]]
"""Returns the names of the user's own commands, with the slash, and what they are for."""


class ChatCompleter(Completer):
    """Completes commands, and the paths of files: after `@`, and of any word with Tab."""

    def __init__(self, paths: Complete, own: OwnNames = list) -> None:
        self._paths = paths
        self._own = own

    def get_completions(self, document: Document, complete_event: CompleteEvent) -> Iterable[Completion]:
        """Yield the commands that start like the line, or the paths that fit the word."""
        text = document.text
        if text.startswith("/") and not any(blank in text for blank in " \n"):
            known = [(name, translate(summary)) for name, (_, summary) in COMMANDS.items()]
            known += [(name, summary) for name, summary in self._own() if name not in COMMANDS]
            for name, summary in known:
                if name.startswith(text):
                    yield Completion(name, start_position=-len(text), display_meta=summary)
            return
        word = document.get_word_before_cursor(WORD=True)
        typed = word.removeprefix("!").removeprefix("@")
        if word.startswith("@") or (complete_event.completion_requested and typed):
            for path in self._paths(typed):
                yield Completion(path, start_position=-len(typed))


class Editor:
    """The prompt. Enter sends, Alt-Enter starts a new line, and pasted text stays as it is."""

    def __init__(
        self,
        toolbar: Callable[[], StyleAndTextTuples],
        expand: Callable[[], None],
        earlier: Iterable[str],
        switch: Callable[[], Awaitable[None]],
        paths: Complete = lambda _: [],
        own: OwnNames = list,
    ) -> None:
        """`expand` shows the last call completely (Ctrl-O), `switch` is for Shift-Tab; `earlier` are earlier messages,
        `paths` completes paths, and `own` lists the user's own commands.
        """
        self._history = history = InMemoryHistory(list(earlier))
        self._interrupted_empty = False
        self._session: PromptSession[str] = PromptSession(
            history=history,
            multiline=True,
            completer=ChatCompleter(paths, own),
            complete_while_typing=True,
            complete_in_thread=True,
            key_bindings=_bindings(expand, switch),
            prompt_continuation=[("class:prompt", "· ")],
            bottom_toolbar=toolbar,
            style=_STYLE,
            enable_open_in_editor=False,
            reserve_space_for_menu=6,
        )

    def remember(self, text: str) -> None:
        """Add a message that was not typed here to the history."""
        self._history.append_string(text)

    async def next(self, typed: str = "") -> str:
        """Return the message. Raises `EndOfInput` after Ctrl-D, or after Ctrl-C twice on an empty line."""
        try:
            text = await self._session.prompt_async([("class:prompt", "❯ ")], default=typed)
        except KeyboardInterrupt:
            empty = not self._session.default_buffer.text
            if self._interrupted_empty and empty:
                raise EndOfInput from None
            self._interrupted_empty = empty
            raise Interrupted(last=empty) from None
        except EOFError:
            raise EndOfInput from None
        self._interrupted_empty = False
        return text


class Interrupted(Exception):
    """Ctrl-C at the prompt: the line is discarded."""

    def __init__(self, *, last: bool) -> None:
        super().__init__()
        self.last = last
        """Whether another Ctrl-C leaves the chat."""


def _bindings(expand: Callable[[], None], switch: Callable[[], Awaitable[None]]) -> KeyBindings:
    keys = KeyBindings()

    @keys.add("enter")
    def _send(event: KeyPressEvent) -> None:
        buffer = event.current_buffer
        if buffer.complete_state is not None and buffer.complete_state.current_completion is not None:
            buffer.apply_completion(buffer.complete_state.current_completion)
        elif buffer.text.strip():
            buffer.validate_and_handle()

    @keys.add("escape", "enter")
    def _another_line(event: KeyPressEvent) -> None:
        event.current_buffer.insert_text("\n")

    @keys.add("s-tab")
    async def _switch(event: KeyPressEvent) -> None:
        await switch()
        event.app.invalidate()

    @keys.add("c-o")
    async def _expand(_event: KeyPressEvent) -> None:
        await run_in_terminal(expand)

    return keys
