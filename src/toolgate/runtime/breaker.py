"""The circuit breaker: a tool that fails repeatedly is paused."""

from toolgate.protocol.ports import Clock

THRESHOLD = 3
"""Internal failures in a row that open the breaker."""
PAUSE_SECONDS = 60.0
"""Seconds that a tool is paused. After that, one call may try it."""


class Breaker:
    """Counts internal failures for each tool of one context; denials and bad input do not count."""

    def __init__(self, clock: Clock) -> None:
        self._clock = clock
        self._failures: dict[str, int] = {}
        self._open_until: dict[str, float] = {}
        self._trying: set[str] = set()
        self.quiet = True
        """Whether no tool has failures in a row, so that every call may run."""

    def is_open(self, name: str) -> bool:
        """Whether the breaker is open for the tool, or another call is trying it. The tool is hidden meanwhile."""
        until = self._open_until.get(name)
        return until is not None and (name in self._trying or self._clock.monotonic() < until)

    def remaining(self, name: str) -> float:
        """Seconds until a call may try the tool."""
        return max(0.0, self._open_until.get(name, 0.0) - self._clock.monotonic())

    def begin(self, name: str) -> bool:
        """Whether a call may run. After the pause, only one call may run until its outcome is known."""
        if name not in self._open_until:
            return True
        if self.is_open(name):
            return False
        self._trying.add(name)
        return True

    def end(self, name: str, *, broken: bool | None) -> None:
        """Note the end of a call. `broken` is None if the call does not show whether the tool works."""
        if broken:
            self.quiet = False
            count = self._failures[name] = self._failures.get(name, 0) + 1
            if count >= THRESHOLD:
                self._open_until[name] = self._clock.monotonic() + PAUSE_SECONDS
        elif broken is False and self._failures:
            self._failures.pop(name, None)
            self._open_until.pop(name, None)
            self.quiet = not self._failures
        self._trying.discard(name)
