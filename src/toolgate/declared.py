"""`Declared`: base of models that programs write by hand, such as rules. An invalid one raises a readable error."""

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
    """One sentence per error of pydantic; `known` are the names of the model's fields."""
    return [_problem(item, list(known)) for item in error.errors(include_url=False)]


def _problem(item: Any, known: list[str]) -> str:
    key, message = ".".join(map(str, item["loc"])), item["msg"].removeprefix("Value error, ")
    if item["type"] == "extra_forbidden":
        import difflib

        near = difflib.get_close_matches(key, known, n=1)
        return f"{key} is unknown; " + (f"did you mean {near[0]}?" if near else f"there are {', '.join(known)}")
    if item["type"] == "missing":
        return f"{key} is missing"
    if item["type"] == "literal_error":
        return f"{key} is {item['input']!r:.80}: write {item['ctx']['expected']}"
    if item["type"] == "value_error":
        return f"{key} {message}".strip()
    return f"{key} is {item['input']!r:.80}: {message[:1].lower()}{message[1:]}"
