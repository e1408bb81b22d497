"""What every area has in common."""

from typing import Any

from pydantic_settings import SettingsConfigDict


def area(prefix: str) -> SettingsConfigDict:
    """Frozen, and without the offending value in error messages, because some of the values are secrets.

    How an area is checked is worked out when one is checked for the first time: most programs leave most of them alone.
    """
    return SettingsConfigDict(
        env_prefix=prefix, frozen=True, extra="forbid", hide_input_in_errors=True, defer_build=True
    )


def words(value: Any) -> Any:
    """The words of a text that are separated by commas."""
    if isinstance(value, str):
        return tuple(name.strip() for name in value.split(",") if name.strip())
    return tuple(value) if isinstance(value, list) else value
