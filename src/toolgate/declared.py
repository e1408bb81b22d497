"""`Declared`: models that programs write by hand, as rules and tasks are. What is wrong with one is one sentence."""

from __future__ import annotations

from collections.abc import Iterable
from typing import TYPE_CHECKING, Any

from pydantic import BaseModel, ConfigDict, ValidationError

from toolgate.errors import DeclarationError


class Declared(BaseModel):
    """A model whose constructor raises `DeclarationError`; `model_validate` raises pydantic's own error."""

    model_config = ConfigDict(defer_build=True)

    if not TYPE_CHECKING:  # type checkers take the arguments from the fields

        def __init__(self, /, **values: Any) -> None:
            try:
                super().__init__(**values)
            except ValidationError as error:
                sentence = "; ".join(problems_of(error, type(self).model_fields))
                raise DeclarationError(f"{type(self).__name__}: {sentence}") from None

        # As in pydantic's RootModel: a value inside another one is validated without this constructor.
        __init__.__pydantic_base_init__ = True


def problems_of(error: ValidationError, known: Iterable[str]) -> list[str]:
    """What pydantic has found, one sentence each; `known` are the names of the model's fields."""
    return [_problem(item, list(known)) for item in error.errors(include_url=False)]


def _problem(item: Any, known: list[str]) -> str:
    place, message = ".".join(map(str, item["loc"])), item["msg"].removeprefix("Value error, ")
    if item["type"] == "extra_forbidden":
        import difflib

        near = difflib.get_close_matches(place, known, n=1)
        return f"{place} is unknown; " + (f"did you mean {near[0]}?" if near else f"there are {', '.join(known)}")
    if item["type"] == "missing":
        return f"{place} is missing"
    if item["type"] == "literal_error":
        return f"{place} is {item['input']!r:.80}: write {item['ctx']['expected']}"
    if item["type"] == "value_error":
        return f"{place} {message}".strip()
    return f"{place} is {item['input']!r:.80}: {message[:1].lower()}{message[1:]}"
