"""Arguments that are one level of strings, whole numbers and booleans: read and validated in a single pass."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from pydantic.fields import FieldInfo
from pydantic_core import CoreSchema, PydanticUndefined, SchemaValidator, core_schema

from toolgate.tools.declaration import Declaration
from toolgate.tools.function import FunctionTool

_SCHEMAS: dict[Any, CoreSchema] = {
    str: core_schema.str_schema(),
    int: core_schema.int_schema(),
    bool: core_schema.bool_schema(),
}
"""Types whose values are the very values that the JSON holds."""

Validate = Callable[..., tuple[dict[str, Any], None, set[str]]]


def given_of(values: dict[str, Any], names: set[str]) -> dict[str, Any]:
    """What the call gave of the values that the function gets."""
    return {name: value for name, value in values.items() if name in names}


def flat_validator(tool: object, declaration: Declaration) -> Validate | None:
    """What reads the arguments of a function whose parameters are all of these types and nothing more; else None.

    It returns the values by name, nothing, and the names that were given, or raises a `ValidationError`. A key that
    stands twice it does not see: every key brings a colon, so there must be as many colons as names.
    """
    params = declaration.params
    if type(tool) is not FunctionTool or not tool.is_plain or declaration.timeout is not None or params is None:
        return None
    schemas = {name: _schema(field) for name, field in params.model_fields.items()}
    known = {name: schema for name, schema in schemas.items() if schema is not None}
    if len(known) < len(schemas):
        return None
    fields = {name: core_schema.model_field(schema) for name, schema in known.items()}
    validator = SchemaValidator(core_schema.model_fields_schema(fields, extra_behavior="forbid"))
    validate: Validate = validator.validate_json
    return validate


def _schema(field: FieldInfo) -> CoreSchema | None:
    schema = _SCHEMAS.get(field.annotation)
    if schema is None or field.metadata or field.alias or field.validation_alias:
        return None
    if field.default_factory is not None or field.validate_default:
        return None
    if field.default is PydanticUndefined:
        return schema
    return core_schema.with_default_schema(schema, default=field.default)
