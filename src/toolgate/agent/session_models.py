"""`SessionModels`: the model of a session or a sub-agent by its name, with Toolgate's own secrets masked."""

from __future__ import annotations

from collections.abc import Callable

from toolgate.errors import ModelError
from toolgate.models.base import ModelClient
from toolgate.models.masked import MaskedModel
from toolgate.models.source import ModelSource, UnusableModel


class SessionModels:
    """Finds models for the turns of one loop."""

    def __init__(
        self, model: ModelClient | ModelSource, find: Callable[[str], ModelClient] | None, secrets: tuple[str, ...]
    ) -> None:
        self._model = model
        self._find = model.find if isinstance(model, ModelSource) else find
        self._secrets = secrets

    @property
    def default(self) -> ModelClient:
        """The model of sessions that name no other. A `ModelSource` may replace it while turns run."""
        return self._model.default if isinstance(self._model, ModelSource) else self._model

    @property
    def by_name(self) -> Callable[[str], ModelClient] | None:
        """Returns the model that a sub-agent names; None if there is only the default."""
        find = self._find
        return None if find is None else lambda name: MaskedModel(find(name), self._secrets)

    def of_session(self, name: str) -> ModelClient:
        """The model of a session. One that cannot be used here fails when it is asked."""
        try:
            if not name:
                return MaskedModel(self.default, self._secrets)
            if self._find is None:
                raise ModelError("MODEL_NOT_FOUND", f"The session wants the model {name!r}: no other is set up here.")
            return MaskedModel(self._find(name), self._secrets)
        except ModelError as error:
            return UnusableModel(name, error)
