"""Building frozen models without validating values that this package has just made itself."""

from typing import Any, TypeVar

from pydantic import BaseModel

M = TypeVar("M", bound=BaseModel)

_set = object.__setattr__


def trusted(model: type[M], fields: dict[str, Any]) -> M:
    """An instance of `model` with exactly these fields. MUST NOT be used with anything from outside."""
    instance = model.__new__(model)
    _set(instance, "__dict__", fields)
    _set(instance, "__pydantic_fields_set__", set(fields))
    _set(instance, "__pydantic_extra__", None)
    _set(instance, "__pydantic_private__", None)
    return instance
