"""JSON Schema of parameters, simplified for models: without titles and references."""

from typing import Any

from pydantic import BaseModel


def parameters_schema(params: type[BaseModel]) -> dict[str, Any]:
    """The schema of a parameter model, with titles dropped and `$ref`s inlined.

    The model's own docstring is for readers of the code: the tool's description says what a tool does.
    """
    document = params.model_json_schema()
    document.pop("description", None)
    definitions = document.pop("$defs", {})
    schema: dict[str, Any] = _inline(document, definitions, ())
    schema.setdefault("properties", {})
    if params.model_config.get("extra") != "allow":
        schema.setdefault("additionalProperties", False)
    return schema


def _inline(node: Any, definitions: dict[str, Any], seen: tuple[str, ...], *, names: bool = False) -> Any:
    """Copy `node`; `names` says that its keys are property names, where `title` is a name like any other."""
    if isinstance(node, list):
        return [_inline(item, definitions, seen) for item in node]
    if not isinstance(node, dict):
        return node
    reference = node.get("$ref")
    if isinstance(reference, str) and not names:
        name = reference.removeprefix("#/$defs/")
        siblings = {key: value for key, value in node.items() if key != "$ref"}
        if name in seen:
            return {"type": "object", **siblings}
        target = {**definitions.get(name, {}), **siblings}
        return _inline(target, definitions, (*seen, name))
    copied: dict[str, Any] = {}
    for key, value in node.items():
        if not names and (key == "discriminator" or (key == "title" and isinstance(value, str))):
            continue  # a discriminator maps values to references, and each option says its own value already
        if key in {"default", "const", "enum", "examples"} and not names:
            copied[key] = value
        else:
            copied[key] = _inline(value, definitions, seen, names=key == "properties" and not names)
    return copied
