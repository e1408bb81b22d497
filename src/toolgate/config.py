"""Checks the config file. The whole file is refused unless every key in it can be set."""

from __future__ import annotations

import json
import os
from collections.abc import Callable, Iterator, Mapping
from typing import TYPE_CHECKING, Any, get_args
from urllib.parse import urlsplit

from pydantic import SecretStr, ValidationError

from toolgate.errors import ConfigError

if TYPE_CHECKING:
    from pydantic import BaseModel
    from pydantic.fields import FieldInfo

    from toolgate.userfiles import ConfigFile

    Tables = Mapping[str, type[BaseModel]]
    """Table of the file (empty: outside all tables) → the model that defines its keys."""
    Variable = Callable[[Any, str], str]
    """The environment variable of a model's field."""


_PATHS = frozenset({"policy_file", "mcp_config"})


def configured(
    file: ConfigFile, tables: Tables, variable: Variable, environ: Mapping[str, str]
) -> dict[str, dict[str, Any]]:
    """Return what the config file sets, by table, without what the environment sets. Raises `ConfigError`."""
    if problems := list(_problems(file, tables, variable)):
        raise ConfigError(problems)
    present = {name.upper() for name in environ}
    return {
        table: {
            key: _located(file, value, environ) if key in _PATHS else value
            for key, value in values.items()
            if variable(model, key) not in present
        }
        for table, model, values in _by_table(file, tables)
    }


def _located(file: ConfigFile, path: str, environ: Mapping[str, str]) -> str:
    """Resolve a path relative to the config file, not to the current directory, which may be an untrusted project."""
    if path.startswith("~/") and environ.get("HOME", "").startswith("/"):
        return os.path.join(environ["HOME"], path[2:])
    return os.path.join(file.path.absolute().parent, path) if path else path


def _by_table(file: ConfigFile, tables: Tables) -> Iterator[tuple[str, type[BaseModel], Any]]:
    for table, model in tables.items():
        top_level = {key: value for key, value in file.values.items() if key not in tables}
        values = top_level if table == "" else file.values.get(table, {})
        if values:
            yield table, model, values


def _problems(file: ConfigFile, tables: Tables, variable: Variable) -> Iterator[str]:
    for table, model, values in _by_table(file, tables):
        if not isinstance(values, dict):
            yield f"{file.where(table)}: must be a table. Write [{table}] and its settings below it"
            continue
        for problem in _findings(model, values):
            yield _explained(problem, file, table, [*model.model_fields, *(tables if not table else ())])
        if not file.private:
            for key in _secrets(model, values):
                advice = f"Say chmod 600 {file.path}, or set {variable(model, key)} instead"
                yield f"{file.where(table, key)}: is a secret, and others may read the file. {advice}"


def _findings(model: type[BaseModel], values: dict[str, Any]) -> list[Any]:
    """Return what is wrong with the values of one table. Each must have exactly the expected type."""
    text = json.dumps(values, default=lambda date: {"not text": str(date)})
    fresh = model.__new__(model)
    try:
        # not through the model's own __init__, which would add the environment; as JSON, in which a path is text
        model.__pydantic_validator__.validate_json(text, strict=True, self_instance=fresh)
    except ValidationError as error:
        return list(error.errors(include_url=False, include_input=False, include_context=False))
    return []


def _explained(problem: Any, file: ConfigFile, table: str, known: list[str]) -> str:
    key = str(problem["loc"][0]) if problem["loc"] else ""
    where = file.where(table, key)
    if problem["type"] == "extra_forbidden":
        import difflib

        near = difflib.get_close_matches(key, [name for name in known if name], n=1)
        meant = f" Did you mean {near[0]}?" if near else f" There are: {', '.join(filter(None, known))}."
        return f"{where}: is not a setting.{meant} docs/settings.md has them all"
    return f"{where}: {problem['msg'].removeprefix('Value error, ')}"


def _secrets(model: type[BaseModel], values: dict[str, Any]) -> Iterator[str]:
    for key, value in values.items():
        field = model.model_fields.get(key)
        if field is not None and isinstance(value, str) and _is_secret(field, value):
            yield key


def _is_secret(field: FieldInfo, value: str) -> bool:
    """Whether a field is a secret: a key, a token, or a hidden address that contains a password."""
    if SecretStr in (field.annotation, *get_args(field.annotation)):
        return True
    if field.repr:
        return False
    try:
        return bool(urlsplit(value).password)
    except ValueError:
        return True
