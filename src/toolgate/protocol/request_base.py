"""What the parameters of all requests have in common."""

from pydantic import BaseModel, ConfigDict, Field

STRICT = ConfigDict(frozen=True, extra="forbid", strict=True, hide_input_in_errors=True)
NAME = r"^[A-Za-z0-9_-]{1,100}$"
"""What ids of sessions and approval requests look like."""
MAX_CONTENT = 1024 * 1024
"""Characters of a message; its bytes are counted where it is stored."""
REQUEST_ID = Field(
    default=None,
    min_length=1,
    max_length=100,
    description="The idempotency key: a name of the client's own for this message, unique in the session. Sent "
    "again with the same key, under whatever `id`, the message starts no second turn, and the frames of the first "
    "one come again. Without a key every frame starts a turn, also one with an `id` that was used before.",
)


class Params(BaseModel):
    """Parameters of a request."""

    model_config = STRICT


class OfSession(Params):
    """Parameters of a request about one session."""

    session_id: str = Field(pattern=NAME)


class AttachedImage(Params):
    """A picture of a message: one that `POST /sessions/ID/pictures` has stored, or one of an earlier message."""

    sha256: str = Field(pattern="^[0-9a-f]{64}$")
    name: str = Field(
        default="",
        max_length=200,
        pattern=r"^[^\x00-\x1f\x7f]*$",
        description="What the model and people read as its name.",
    )
