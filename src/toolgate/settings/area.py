"""`Area`: the base class of all areas of settings."""

import functools
import os
from collections.abc import Mapping
from typing import Any, ClassVar, Self

from pydantic import BaseModel, ConfigDict


class Area(BaseModel):
    """One area. It is validated however it is made; only `Area()` reads the environment.

    The variable of a field is `variable_prefix` and the field's name, in upper or lower case. A variable that is set
    counts, even if it is empty, and its text is what the field validates.
    """

    # No error message contains the offending value, because some of the values are secrets. The validator of an area is
    # built when it is first needed, because most programs use few areas.
    model_config = ConfigDict(
        frozen=True, extra="forbid", hide_input_in_errors=True, validate_default=True, defer_build=True
    )

    variable_prefix: ClassVar[str]
    """What the variables of this area begin with."""

    def __init__(self, **given: Any) -> None:
        """What is not given is read from the environment, else it is the default."""
        super().__init__(**{**self._environment(), **given})

    @classmethod
    def variable(cls, field: str) -> str:
        """The environment variable of a field."""
        return f"{cls.variable_prefix}{field}".upper()

    @classmethod
    def _environment(cls) -> dict[str, str]:
        values = {name.upper(): value for name, value in os.environ.items()}
        variables = {name: cls.variable(name) for name in cls.model_fields}
        return {name: values[variable] for name, variable in variables.items() if variable in values}

    def model_copy(self, *, update: Mapping[str, Any] | None = None, deep: bool = False) -> Self:
        """A copy with other values; unlike pydantic's own, it validates them and refuses unknown names."""
        return self.of({**self.__dict__, **update}) if update else super().model_copy(deep=deep)

    @classmethod
    def of(cls, values: Mapping[str, Any]) -> Self:
        """An area with these values and the defaults of all others, whatever the environment says."""
        cls.model_rebuild()
        area: Self = cls.__pydantic_validator__.validate_python(dict(values), self_instance=cls.__new__(cls))
        return area

    def checked(self) -> Self:
        """This area, validated. One that has been validated, or has only defaults, is returned as it is."""
        values = self.__dict__
        if values == _defaults(type(self)):
            return self
        validated = self.of(values)
        return self if validated.__dict__ == values else validated


@functools.cache
def _defaults(area: type[Area]) -> dict[str, Any]:
    return area.model_construct().__dict__


def words(value: Any) -> Any:
    """Split a text at its commas."""
    if isinstance(value, str):
        return tuple(name.strip() for name in value.split(",") if name.strip())
    return tuple(value) if isinstance(value, list) else value
