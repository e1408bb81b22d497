"""The circuit breaker: a tool that keeps breaking rests for a while."""

from toolgate.protocol.ports import Clock

THRESHOLD = 3
"""Internal failures in a row that open the breaker."""
REST = 60.0
"""Seconds until one call may try again."""


class Breaker:
    """Counts internal failures for each tool of one context; denials and bad input do not count."""

    def __init__(self, clock: Clock) -> None:
        self._clock = clock
        self._failures: dict[str, int] = {}
        self._open_until: dict[str, float] = {}
        self._trying: set[str] = set()
        self.quiet = True
        """Whether no tool has failures that count: every call may run."""

    def is_open(self, name: str) -> bool:
        """Whether the breaker is open for the tool, or another call is trying it. The tool is hidden meanwhile."""
        until = self._open_until.get(name)
        return until is not None and (name in self._trying or self._clock.monotonic() < until)

    def remaining(self, name: str) -> float:
        """Seconds until a call may try."""
        return max(0.0, self._open_until.get(name, 0.0) - self._clock.monotonic())

    def begin(self, name: str) -> bool:
        """Whether a call may run. After the rest exactly one may, until its outcome is known."""
        if name not in self._open_until:
            return True
        if self.is_open(name):
            return False
        self._trying.add(name)
        return True

    def end(self, name: str, *, broken: bool | None) -> None:
        """The call ended: it broke, it worked, or (None) it ended without showing either."""
        if broken:
            self.quiet = False
            count = self._failures[name] = self._failures.get(name, 0) + 1
            if count >= THRESHOLD:
                self._open_until[name] = self._clock.monotonic() + REST
        elif broken is False and self._failures:
            self._failures.pop(name, None)
            self._open_until.pop(name, None)
            self.quiet = not self._failures
        self._trying.discard(name)
