"""Arguments that are one level of strings, whole numbers and booleans: read and validated in a single pass."""

from __future__ import annotations

from typing import Any

from pydantic.fields import FieldInfo
from pydantic_core import CoreSchema, PydanticUndefined, SchemaValidator, ValidationError, core_schema

from toolgate.runtime.arguments import SURELY_SMALL
from toolgate.tools.function import FunctionTool

_SCHEMAS: dict[Any, CoreSchema] = {
    str: core_schema.str_schema(),
    int: core_schema.int_schema(),
    bool: core_schema.bool_schema(),
}
"""Types whose values are the very values that the JSON holds."""


class FlatArguments:
    """Reads the arguments of a function that takes nothing else; what it is not sure of is for the exact way."""

    def __init__(self, schemas: dict[str, CoreSchema]) -> None:
        fields = {name: core_schema.model_field(schema) for name, schema in schemas.items()}
        validator = SchemaValidator(core_schema.model_fields_schema(fields, extra_behavior="forbid"))
        self._validate = validator.validate_json

    def read(self, text: str) -> tuple[dict[str, Any], dict[str, Any]] | None:
        """What the call gave, and what the function gets; None where the exact way has to look.

        Every key brings a colon: as many colons as keys means that no key stood twice.
        """
        if len(text) > SURELY_SMALL:
            return None
        try:
            values, _, names = self._validate(text, strict=True)
        except ValidationError:
            return None
        if len(names) != text.count(":"):
            return None
        return values if len(names) == len(values) else {name: values[name] for name in values if name in names}, values


def flat_arguments(tool: object) -> FlatArguments | None:
    """The reader for a function whose parameters are all of these types and nothing more; else None."""
    if type(tool) is not FunctionTool or not tool.is_plain or tool.timeout is not None:
        return None
    schemas = {name: _schema(field) for name, field in tool.Params.model_fields.items()}
    known = {name: schema for name, schema in schemas.items() if schema is not None}
    return FlatArguments(known) if len(known) == len(schemas) else None


def _schema(field: FieldInfo) -> CoreSchema | None:
    schema = _SCHEMAS.get(field.annotation)
    if schema is None or field.metadata or field.alias or field.validation_alias:
        return None
    if field.default_factory is not None or field.validate_default:
        return None
    if field.default is PydanticUndefined:
        return schema
    return core_schema.with_default_schema(schema, default=field.default)
