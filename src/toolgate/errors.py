"""The error tree.

Denials, pauses and cancellations are values (see `protocol.envelope`), not exceptions. What is raised:

    ToolgateError
    ├── ToolError            a tool's own, expected failure: becomes an error envelope
    ├── PolicyError          a policy that cannot be loaded: start-up stops
    ├── ConfigError          a config file that cannot be used: start-up stops
    ├── DeclarationError     a tool, a rule or a task of a program that cannot be used
    ├── ModeError            a value is not a mode
    ├── UndoRefused          undoing would destroy somebody else's change
    ├── ModelError           a language model did not answer; says whether a retry may help
    ├── StoreError           the database cannot be used; says what to do about it
    ├── WorkspaceError       the files of a session cannot be restored or stored
    ├── OutputMissing        an output file is not available; says why
    ├── MissingPackage       a part of Toolgate needs a package that is not installed; says what to install
    ├── UnsupportedPlatform  a part of Toolgate needs Linux
    └── SessionError         a request to a session cannot be fulfilled
        ├── SessionNotFound  there is no such session
        ├── SessionBusy      another process holds it, or the database is locked for too long
        ├── RequestRepeated  the client's request has already started a turn
        ├── SessionFenced    the lease of the write is no longer valid
        ├── ModeNotEnabled   the operator has not enabled that mode
        ├── ChoiceNotOffered an answer names a choice that the approval request does not offer
        ├── MessageTooLarge  more than a message may hold
        ├── TooManyPictures  more than the pictures of a session may hold
        └── NoSuchMessage    the conversation has no such message of the person
"""

from typing import Any

from toolgate.protocol.codes import ErrorCode


class ToolgateError(Exception):
    """Base class of everything that Toolgate raises on purpose."""


class ToolError(ToolgateError):
    """An expected failure inside a tool; the pipeline turns it into an error envelope."""

    def __init__(
        self, code: ErrorCode, message: str, next_step: str = "", *, data: dict[str, Any] | None = None
    ) -> None:
        super().__init__(message)
        self.code = ErrorCode(code)
        self.message = message
        self.next_step = next_step
        self.data = data or {}


class PolicyError(ToolgateError):
    """A policy file is unreadable, invalid or contradicts its own examples."""


class ConfigError(ToolgateError):
    """The config file is unreadable or sets something unknown. Each problem names the place and what to write."""

    def __init__(self, problems: list[str]) -> None:
        super().__init__("; ".join(problems))
        self.problems = problems


class DeclarationError(ToolgateError, TypeError, ValueError):
    """A tool, a rule, a task or another declaration of a program cannot be used. The message says what to write.

    It is a `TypeError` and a `ValueError`, so that programs may catch either.
    """


class ModeError(ToolgateError, TypeError, ValueError):
    """A value is not a mode. It is a `TypeError` and a `ValueError`, so that programs may catch either."""


class UndoRefused(ToolgateError):
    """A file was changed after the call that is to be undone."""


class StoreError(ToolgateError):
    """The database cannot be opened, read or written. The message says what to do about it."""


class WorkspaceError(ToolgateError):
    """The files of a session cannot be restored or stored. The message says what to do about it."""


class OutputMissing(ToolgateError):
    """An output file is not available, or no longer. The message is for the user."""


class MissingPackage(ToolgateError, ModuleNotFoundError):
    """A part of Toolgate needs a package that is not installed. The message says what to install."""


class UnsupportedPlatform(ToolgateError, OSError):
    """A part of Toolgate needs Linux. The message says which part, and what works without."""


class ModelError(ToolgateError):
    """A language model did not answer, or its answer is unusable. The message is for the user."""

    def __init__(
        self,
        code: str,
        message: str,
        *,
        retryable: bool = False,
        retry_after: float | None = None,
        cause: str = "",
        advice: str = "",
    ) -> None:
        super().__init__(message)
        self.code = code
        """`MODEL_AUTH`, `MODEL_QUOTA`, `MODEL_NOT_FOUND`, `MODEL_ADDRESS`, `MODEL_RATE_LIMIT`, `MODEL_UNAVAILABLE`,
        `MODEL_BAD_REQUEST`, `MODEL_CONTEXT` or `MODEL_PROTOCOL`."""
        self.message = message
        self.cause = cause or message
        """What went wrong, in one sentence."""
        self.advice = advice
        """What to do about it, in one sentence."""
        self.limit: int | None = None
        """Tokens that the model takes, if the provider says it (`MODEL_CONTEXT`)."""
        self.used: int | None = None
        """Tokens that the request had, if the provider says it (`MODEL_CONTEXT`)."""
        self.retryable = retryable
        """Whether the same request may succeed a little later."""
        self.retry_after = retry_after
        """Seconds that the provider asks to wait."""


class SessionError(ToolgateError):
    """A request to a session cannot be fulfilled."""


class SessionNotFound(SessionError):
    """There is no session with that id."""


class SessionBusy(SessionError):
    """Another process holds the session, or the database stayed locked for too long."""


class ChoiceNotOffered(SessionError):
    """An answer picks a rule, a scope or an approval mode that the request does not offer. It is still open."""


class RequestRepeated(SessionError):
    """The client's request has already started a turn. It starts no other, and nothing was written."""

    def __init__(self, message: str, turn_id: str) -> None:
        super().__init__(message)
        self.turn_id = turn_id
        """The turn that it started. The session's log has its result."""


class SessionFenced(SessionError):
    """The lease is no longer valid: another process took over, or it was released. Nothing was written."""


class ModeNotEnabled(SessionError):
    """The operator has not enabled that mode."""


class MessageTooLarge(SessionError):
    """A message holds more than 1 MiB."""


class TooManyPictures(SessionError):
    """The pictures of a session take more room than one session may have."""


class NoSuchMessage(SessionError):
    """The conversation has no message of the person with that number."""
