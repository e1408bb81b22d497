"""What a client of the gateway may ask for about models and the context: one method, one model of its parameters."""

from __future__ import annotations

from pydantic import Field, SecretStr

from toolgate.protocol.request_base import OfSession, Params

MAX_MODEL_NAME = 300
"""Characters of a model's name."""

ModelId = Field(
    min_length=1,
    max_length=MAX_MODEL_NAME,
    pattern=r"^[^\x00-\x20\x7f]+$",
    description="As `model.list` shows it (`openai:gpt-5.5`), or a name alone.",
)


class ModelList(Params):
    """The models that a session can have, and the default. Never a key.

    Answers `{models: [{id, provider, label, context_tokens, vision}], default, configured, setup, problem?}`.
    `configured` is false if there is no language model, `setup` says whether `model.configure` is allowed here, and
    `problem` why the provider's list is missing.
    """


class ModelProviders(Params):
    """The providers that can be set up, and the servers that answer on the usual ports of this machine.

    Answers `{providers: [{id, label, needs_key, base_url?}], found: [{base_url, label, models}]}`. Only where the
    operator allows the setup of models.
    """


class _Setup(Params):
    provider: str = Field(min_length=1, max_length=50, description="The `id` of a provider of `model.providers`.")
    base_url: str | None = Field(default=None, max_length=2000, description="The address of the server.")
    api_key: SecretStr | None = Field(
        default=None, max_length=1000, description="The key. It is masked from now on and never sent back."
    )


class ModelTest(_Setup):
    """Try a provider, an address and a key; nothing is stored.

    Answers `{ok, models: [id], message}`. Without a key, one that is known already for this provider is tried.
    """


class ModelConfigure(_Setup):
    """Store a model in the user's config file and use it from the next turn on; answers like `model.list`.

    It is tried first, and nothing is stored if it does not work.
    """

    model: str = ModelId


class SessionModel(OfSession):
    """Use another model in a session from its next turn on; answers `{session_id, model}`."""

    model: str | None = Field(
        default=None, min_length=1, max_length=MAX_MODEL_NAME, description="None: the default again."
    )


class SessionCompact(OfSession):
    """Let the model summarise the older part of a session; frames like those of a turn, under the request's `id`.

    With `restore`, the last summary is taken back, and the model reads the original messages again.
    """

    restore: bool = False


MODEL_METHODS: dict[str, type[Params]] = {
    "model.list": ModelList,
    "model.providers": ModelProviders,
    "model.test": ModelTest,
    "model.configure": ModelConfigure,
    "session.model": SessionModel,
    "session.compact": SessionCompact,
}
"""Name of a method → its parameters."""
