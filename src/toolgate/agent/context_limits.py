"""How many tokens a request to a model may have: by the settings, by its server, and by its refusals."""

from __future__ import annotations

import time
from collections.abc import Callable
from typing import TYPE_CHECKING, Any, Final, NamedTuple

if TYPE_CHECKING:
    from toolgate.errors import ModelError

MIN_TOKENS: Final = 500
"""Tokens of a request below which a model cannot be used."""
_ANSWER: Final = 0.85
"""The part of a stated limit that a request may take; the rest is for the answer."""
_GUESS: Final = 0.7
"""The part of a refused request that is tried next if the provider states no limit."""
_GROWTH: Final = 1.15
_REMEMBERED: Final = 3600.0
"""Seconds after which a learnt limit expires, because the server may accept more by then."""


class _Learnt(NamedTuple):
    tokens: int
    stated: bool
    """Whether the provider stated the limit; otherwise it is a guess."""
    until: float


class ContextLimits:
    """The limits of all models of a loop, in estimated tokens (a quarter of the bytes)."""

    def __init__(self, ceiling: int, clock: Callable[[], float] = time.monotonic) -> None:
        """`ceiling` is the setting: no request is larger, whatever the model takes."""
        self._ceiling = ceiling
        self._clock = clock
        self._learnt: dict[str, _Learnt] = {}

    def of(self, model: Any) -> int:
        """The largest request for a model."""
        stated = getattr(model, "context_tokens", None)
        limit = self._ceiling if not stated else min(self._ceiling, max(MIN_TOKENS, int(stated * _ANSWER)))
        learnt = self._known(model)
        return limit if learnt is None else min(limit, learnt.tokens)

    def refused(self, model: Any, size: int, error: ModelError) -> bool:
        """Note that a request of `size` tokens was too long; False if no shorter one can help."""
        before = self.of(model)
        scale = size / error.used if error.used else 1.0  # our tokens are estimates, the provider's are counted
        wanted = error.limit * scale * _ANSWER if error.limit else min(before, size) * _GUESS
        tokens = int(min(wanted, size * 0.9))
        if tokens < MIN_TOKENS:
            return False
        until = self._clock() + _REMEMBERED
        self._learnt[_name(model)] = _Learnt(tokens=tokens, stated=error.limit is not None, until=until)
        return True

    def accepted(self, model: Any, size: int) -> None:
        """Note that a request was answered, and raise a guess that was too low."""
        learnt = self._known(model)
        if learnt is not None and not learnt.stated and size > 0.8 * learnt.tokens:
            more = min(self._ceiling, int(learnt.tokens * _GROWTH))
            self._learnt[_name(model)] = learnt._replace(tokens=more)

    def _known(self, model: Any) -> _Learnt | None:
        name = _name(model)
        learnt = self._learnt.get(name)
        if learnt is not None and self._clock() > learnt.until:
            del self._learnt[name]
            return None
        return learnt


def _name(model: Any) -> str:
    return str(getattr(model, "name", type(model).__name__))
