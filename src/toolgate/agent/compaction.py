"""Fits a conversation into the model's context, and keeps the person's messages.

The conversation is divided into steps. A message of the person is a step, and so is an assistant message with all
results of its calls. A step is kept or removed as a whole, so a call is never separated from its result. Old pictures
are removed first, then the outputs of old calls, then old steps; the person's messages and the latest step stay. What
was removed stays removed, so that the beginning of a request is the same in every round and a provider can cache it.

Where that would remove steps, the model is asked for a summary of them first (`summaries.py`). What is done here needs
no model. Long messages of the person lose their middle only where nothing else can be left out, and never the last one.
"""

from __future__ import annotations

import operator
from collections.abc import Sequence
from typing import Any

from toolgate.agent.pictures import MAX_PICTURES, left_out
from toolgate.errors import MessageTooLarge
from toolgate.protocol.content import Picture
from toolgate.sessions.types import Message as StoredMessage

Message = dict[str, Any]

_MIN_BLANKED = 400
"""Outputs up to this many characters are kept: removing them gains too little."""
_AIM = 0.6
"""The part of the budget that is used after compaction; the rest is for the next rounds."""
_RECENT = 0.25
"""The part of the budget that is kept of the latest steps when older ones are summarised."""
_MIN_SUMMARISED = 8_000
"""The smallest budget for which a summary, which takes a part of it, is worth its tokens."""
_MAX_QUOTED = 2_000
"""Characters of a message of the person that are always left."""
_LEFT_OUT = "[Earlier steps were left out to save space. Everything that the user said is still here.]"


def tokens_of(message: Message) -> int:
    """The approximate number of tokens of a message: a quarter of its bytes."""
    size = len((message.get("content") or "").encode("utf-8", "replace"))
    for call in message.get("tool_calls") or ():
        size += len(call["function"]["name"]) + len(call["function"]["arguments"].encode("utf-8", "replace")) + 20
    pictures: Sequence[Picture] = message.get("images") or ()
    return size // 4 + 4 + sum(picture.tokens for picture in pictures)


def tokens_of_tools(tools: Sequence[dict[str, Any]]) -> int:
    """The approximate number of tokens of the tool definitions."""
    from toolgate.protocol.jsontext import encode

    return len(encode(list(tools)).encode()) // 4


def check_message(text: str, room: int, images: Sequence[Picture] = ()) -> None:
    """Raise `MessageTooLarge` if a message has more tokens than there is room for."""
    shown = sum(image.tokens for image in images)
    size = tokens_of({"content": text})
    if size + shown <= max(room, 0):
        return
    if shown:
        raise MessageTooLarge(
            f"This message is too long for the model: its text has about {size:,} tokens, its pictures have about "
            f"{shown:,}, and about {max(room, 0):,} fit. Nothing was stored. Send fewer or smaller pictures, "
            "or choose a model with a larger context."
        )
    fits, has = max(room, 0), len(text.encode("utf-8", "replace"))
    raise MessageTooLarge(
        f"This message is too long for the model: it has {has:,} bytes, about {size:,} tokens, and about {4 * fits:,} "
        f"bytes ({fits:,} tokens) fit. Nothing was stored. Send less of it, put it into a file of the project and name "
        "the file, or choose a model with a larger context."
    )


class Compactor:
    """Keeps one conversation within its token budget."""

    def __init__(self, budget: int) -> None:
        self.budget = budget
        self._unpictured = 0
        """The number of messages, from the beginning, whose pictures are removed."""
        self._pictures = 0
        """The number of pictures in the other messages that have a size."""
        self._blanked = 0
        """The number of messages, from the beginning, whose outputs are removed."""
        self._dropped = 0
        """The number of messages, from the beginning, of which only the person's are kept."""
        self._shortened = 0
        """The number of messages, from the beginning, whose words are shortened if they are very long."""
        self._sizes: list[int] = []
        self._kept: list[Message] | None = None
        """What is left of the first messages, as many as have a size; None if it has to be chosen again."""
        self._kept_tokens = 0
        self._stored: Sequence[StoredMessage] = ()
        self._chat_messages: list[Message] = []
        """The stored messages of the last turn in the form of OpenAI's chat API."""

    def chat_messages(self, stored: Sequence[StoredMessage]) -> list[Message]:
        """Return stored messages in the form of OpenAI's chat API. Those of the last turn are cached."""
        known = len(self._stored)
        if known > len(stored) or not all(map(operator.is_, self._stored, stored)):
            known = 0
        self._chat_messages = self._chat_messages[:known] + [message.to_dict() for message in stored[known:]]
        self._stored = stored
        return list(self._chat_messages)

    def begin(self, messages: Sequence[Message]) -> None:
        """Start a turn with these messages. If they do not continue the last turn's, nothing is left out yet."""
        known = len(self._sizes)
        if known and (known > len(messages) or self._sizes[-1] != tokens_of(messages[known - 1])):
            self.clear()
        self._kept = None

    def clear(self) -> None:
        """Start again with nothing left out, because the conversation was rewound or has a new summary."""
        self._limit(0, 0, 0)
        self._sizes = []
        self._unpictured = self._pictures = 0

    def summary_end(self, messages: Sequence[Message], spent: int, first: int) -> int:
        """The number of messages that should be summarised; 0 if leaving out old outputs is enough, or all are needed.

        `first` is the number of messages at the beginning that hold the previous summary.
        """
        self._keep(messages)
        if self.budget < _MIN_SUMMARISED or spent + self._kept_tokens <= self.budget:
            return 0
        ends = _step_ends(messages)[:-1]
        blanked = [tokens_of(_blank(message)) for message in messages]
        latest = sum(map(tokens_of, messages[ends[-1] :])) if ends else 0
        if not ends or spent + sum(blanked[: ends[-1]]) + latest <= self.budget * _AIM:
            return 0
        room = int(self.budget * _RECENT)
        for end in ends:
            if end > first and sum(blanked[end:]) <= room:
                return end
        return ends[-1] if ends[-1] > first else 0

    def fit(self, messages: Sequence[Message], spent: int) -> tuple[list[Message], int, int]:
        """The messages to send, their tokens, and the tokens that they would have without a new compaction.

        `spent` is the number of tokens of the rest of the request.
        """
        self._keep(messages)
        self._limit_pictures(messages)
        kept = self._keep(messages)
        before = spent + self._kept_tokens
        if before <= self.budget:
            return kept, before, before
        as_it_was = self._blanked, self._dropped, self._shortened
        aim = int(self.budget * _AIM) - spent - tokens_of({"content": _LEFT_OUT})
        self._drop_pictures(messages, aim)
        self._limit(*self._chosen(messages, aim), self._shortened)
        kept = self._keep(messages)
        if spent + self._kept_tokens > self.budget:
            # even the latest outputs are too long; the model can make the calls again
            self._limit(len(messages), self._dropped, self._shortened)
            kept = self._keep(messages)
        if spent + self._kept_tokens > self.budget:
            last = max((index for index, m in enumerate(messages) if m["role"] == "user"), default=0)
            self._limit(self._blanked, self._dropped, last)
            kept = self._keep(messages)
        size = spent + self._kept_tokens
        if size >= before:  # compaction would gain nothing, and its note would cost tokens
            self._limit(*as_it_was)
            kept, size = self._keep(messages), before
        return kept, size, before

    def _chosen(self, messages: Sequence[Message], aim: int) -> tuple[int, int]:
        """The two limits, for outputs and for steps, that leave about `aim` tokens."""
        sizes = [self._size(message, index) for index, message in enumerate(messages)]
        blanked, dropped, total = self._blanked, self._dropped, sum(sizes)
        ends = _step_ends(messages)[:-1]
        for end in ends:
            if total <= aim:
                return blanked, dropped
            for index in range(blanked, end):
                if sizes[index]:
                    smaller = tokens_of(_blank(messages[index]))
                    total -= sizes[index] - smaller
                    sizes[index] = smaller
            blanked = max(blanked, end)
        for end in ends:
            if total <= aim:
                return blanked, dropped
            total -= sum(sizes[index] for index in range(dropped, end) if messages[index]["role"] != "user")
            dropped = max(dropped, end)
        return blanked, dropped

    def _limit_pictures(self, messages: Sequence[Message]) -> None:
        """Leave out the older half of the pictures if there are more than one request takes."""
        if self._pictures > MAX_PICTURES:
            for index in range(self._unpictured, len(messages)):
                if self._pictures <= MAX_PICTURES // 2:
                    return
                self._leave_out(messages, index)

    def _drop_pictures(self, messages: Sequence[Message], aim: int) -> None:
        """Leave out pictures of old steps, the oldest first, until about `aim` tokens are left."""
        total = self._kept_tokens
        for index in range(self._unpictured, (_step_ends(messages)[:-1] or [0])[-1]):
            if total <= aim:
                return
            if messages[index].get("images"):
                if index >= self._blanked:
                    total -= self._sizes[index] - tokens_of(left_out(messages[index]))
                self._leave_out(messages, index)

    def _leave_out(self, messages: Sequence[Message], index: int) -> None:
        self._pictures -= len(messages[index].get("images") or ())
        self._unpictured = index + 1
        self._kept = None

    def _size(self, message: Message, index: int) -> int:
        """The tokens of what is left of a message now."""
        if index < self._dropped and message["role"] != "user":
            return 0
        if index < self._blanked:
            return tokens_of(_blank(message))
        return tokens_of(left_out(message)) if index < self._unpictured else self._sizes[index]

    def _limit(self, blanked: int, dropped: int, shortened: int) -> None:
        self._blanked, self._dropped, self._shortened = blanked, dropped, shortened
        self._kept = None

    def _keep(self, messages: Sequence[Message]) -> list[Message]:
        """What is left of the messages. Only those added since the last request are processed."""
        added = messages[len(self._sizes) :]
        sizes = [tokens_of(message) for message in added]
        self._sizes += sizes
        self._pictures += sum(len(message.get("images") or ()) for message in added)
        if self._kept is None:
            self._kept, self._kept_tokens = self._chosen_anew(messages)
        else:
            self._kept += added
            self._kept_tokens += sum(sizes)
        return list(self._kept)

    def _chosen_anew(self, messages: Sequence[Message]) -> tuple[list[Message], int]:
        if not (self._unpictured or self._blanked or self._dropped or self._shortened):
            return list(messages), sum(self._sizes)
        kept: list[Message] = []
        tokens, has_note = 0, False
        for index, (message, size) in enumerate(zip(messages, self._sizes, strict=True)):
            if index < self._dropped and message["role"] != "user":
                if not has_note:
                    kept.append({"role": "assistant", "content": _LEFT_OUT})
                    tokens += tokens_of(kept[-1])
                    has_note = True
                continue
            shorter = left_out(message) if index < self._unpictured else message
            shorter = _blank(shorter) if index < self._blanked else shorter
            shorter = _quoted(shorter) if index < self._shortened else shorter
            kept.append(shorter)
            tokens += size if shorter is message else tokens_of(shorter)
        return kept, tokens


def _step_ends(messages: Sequence[Message]) -> list[int]:
    """The end of each step: a step ends before every message that is not a result of its calls."""
    return [
        index + 1
        for index in range(len(messages))
        if index + 1 == len(messages) or messages[index + 1]["role"] != "tool"
    ]


def _quoted(message: Message) -> Message:
    """A very long message of the person without its middle."""
    content = message.get("content") or ""
    if message["role"] != "user" or len(content) <= _MAX_QUOTED:
        return message
    head, tail = content[: _MAX_QUOTED * 3 // 4], content[-_MAX_QUOTED // 4 :]
    note = f"\n[… {len(content) - _MAX_QUOTED} characters of this message left out to save space …]\n"
    return {**message, "content": f"{head}{note}{tail}"}


def _blank(message: Message) -> Message:
    message = left_out(message)
    content = message.get("content") or ""
    if message["role"] != "tool" or len(content) <= _MIN_BLANKED:
        return message
    note = f"[{len(content)} characters of output left out to save space; make the call again if you need them]"
    return {**message, "content": note}
