"""Building frozen models without validating values that this package has just made itself."""

from collections.abc import Callable
from typing import Any, TypeVar

from pydantic import BaseModel

M = TypeVar("M", bound=BaseModel)

_new = object.__new__
_set_dict = BaseModel.__dict__["__dict__"].__set__
_set_names = BaseModel.__dict__["__pydantic_fields_set__"].__set__
_set_extra = BaseModel.__dict__["__pydantic_extra__"].__set__
_set_private = BaseModel.__dict__["__pydantic_private__"].__set__


def maker(model: type[M]) -> Callable[[dict[str, Any]], M]:
    """Return a faster `trusted` for one model."""
    names = set(model.model_fields)

    def make(fields: dict[str, Any]) -> M:
        instance = _new(model)
        _set_dict(instance, fields)
        _set_names(instance, names)
        _set_extra(instance, None)
        _set_private(instance, None)
        return instance

    return make


def trusted(model: type[M], fields: dict[str, Any]) -> M:
    """An instance of `model` with exactly these fields. MUST NOT be used with anything from outside.

    `fields` MUST hold every field of the model.
    """
    instance = _new(model)
    _set_dict(instance, fields)
    _set_names(instance, _names.get(model) or _names.setdefault(model, set(model.model_fields)))
    _set_extra(instance, None)
    _set_private(instance, None)
    return instance


def fill(instance: BaseModel, fields: dict[str, Any]) -> None:
    """Give a new instance exactly these fields, for an `__init__` that has nothing to validate; as `trusted`."""
    _set_dict(instance, fields)
    _set_names(instance, set(fields))
    _set_extra(instance, None)
    _set_private(instance, None)


_names: dict[type[BaseModel], set[str]] = {}
