"""What every area has in common."""

import functools
from collections.abc import Mapping
from typing import Any, Self

from pydantic_settings import BaseSettings, SettingsConfigDict


def area(prefix: str) -> SettingsConfigDict:
    """Frozen, and without the offending value in error messages, because some of the values are secrets.

    The validator of an area is built when it is first needed, because most programs use few areas.
    """
    return SettingsConfigDict(
        env_prefix=prefix, frozen=True, extra="forbid", hide_input_in_errors=True, defer_build=True
    )


class Area(BaseSettings):
    """One area. It is validated however it is made; only `Area()` reads the environment."""

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
    """The words of a text that are separated by commas."""
    if isinstance(value, str):
        return tuple(name.strip() for name in value.split(",") if name.strip())
    return tuple(value) if isinstance(value, list) else value
