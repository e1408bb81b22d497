"""Masks the runtime's own secrets in streams of text or bytes, also when a secret spans two pieces."""

from __future__ import annotations

import re
from collections.abc import Callable
from typing import Literal

from toolgate.text.redaction import MARK, added_secrets, current_secrets, secret_pattern

OnOutput = Callable[[Literal["stdout", "stderr"], str], None]

_SHOWN = 3
"""The number of characters of a possible secret that are passed on before the rest is held back."""


class MaskedText:
    """Masks secrets in text that arrives in pieces. A secret that becomes known meanwhile is masked from then on."""

    def __init__(self, secrets: tuple[str, ...]) -> None:
        self._of_settings = secrets
        self._learn()
        self._seen = ""
        """The last characters that were passed on."""
        self._held = ""

    def _learn(self) -> None:
        """Look for every secret that is known now."""
        self._added = len(added_secrets)
        self._pattern = secret_pattern(self._of_settings)
        self._secrets = current_secrets(self._of_settings)
        self._longest = max(map(len, self._secrets), default=0)
        self._firsts = {secret[: _SHOWN + 1] for secret in self._secrets}

    def feed(self, piece: str) -> str:
        """Add a piece and return the text that can be passed on now."""
        if self._added != len(added_secrets):
            self._learn()
        text = self._seen + self._held + piece
        passed, begin, masked_to = [], len(self._seen), 0
        for found in self._pattern.finditer(text):
            if found.end() > begin:
                passed += [text[begin : max(found.start(), begin)], MARK]
                begin = masked_to = found.end()
        end = max(begin, self._held_from(text))
        passed.append(text[begin:end])
        self._held = text[end:]
        self._seen = text[max(masked_to, end - _SHOWN) : end]
        return "".join(passed)

    def _held_from(self, text: str) -> int:
        """Index from which a possible partial secret is held back."""
        tail = len(text) - self._longest
        best = len(text)
        for first in self._firsts:
            start = text.find(first, max(0, tail))
            while start >= 0:
                if any(secret.startswith(text[start:]) for secret in self._secrets):
                    best = min(best, start + _SHOWN)
                    break
                start = text.find(first, start + 1)
        return best

    def flush(self) -> str:
        """Return what was held back, at the end of the text."""
        held, self._held, self._seen = self._held, "", ""
        return held


class MaskedBytes:
    """Masks secrets in bytes that arrive in pieces."""

    def __init__(self, secrets: tuple[str, ...]) -> None:
        known = [secret.encode("utf-8", "replace") for secret in current_secrets(secrets)]
        self._secrets = sorted(known, key=len, reverse=True)
        self._pattern = re.compile(b"|".join(map(re.escape, self._secrets)) or rb"(?!)")
        self._longest = max(map(len, self._secrets), default=1)
        self._held = b""

    def feed(self, piece: bytes) -> bytes:
        """Add a piece and return the bytes that can be passed on now. A possible partial secret is held back."""
        piece = self._held + piece
        sure = max(0, len(piece) - self._longest + 1)
        shown, start = [], 0
        if any(secret in piece for secret in self._secrets):  # faster than the pattern, and secrets are rare
            for found in self._pattern.finditer(piece):
                if found.start() >= sure:
                    break
                shown += [piece[start : found.start()], MARK.encode()]
                start = found.end()
        end = max(start, sure)
        self._held = piece[end:]
        return b"".join([*shown, piece[start:end]])

    def flush(self) -> bytes:
        """Return what was held back, at the end of the stream."""
        held, self._held = self._held, b""
        return self._pattern.sub(MARK.encode(), held)


def masked_output(show: OnOutput, secrets: tuple[str, ...]) -> OnOutput:
    """Mask secrets in a command's live output. Text that is still held back at the end appears only in the result."""
    texts = {"stdout": MaskedText(secrets), "stderr": MaskedText(secrets)}

    def masked(stream: Literal["stdout", "stderr"], text: str) -> None:
        if shown := texts[stream].feed(text):
            show(stream, shown)

    return masked
