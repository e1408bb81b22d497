"""What a tool declares about itself: checked and copied when it is registered, and not read again after that."""

from __future__ import annotations

import math
from collections.abc import Callable, Iterable, Mapping
from enum import StrEnum
from typing import TYPE_CHECKING, Any, Literal, NamedTuple, TypeVar, cast

from pydantic import BaseModel

from toolgate.errors import DeclarationError
from toolgate.protocol.calls import ToolDefinition
from toolgate.protocol.choices import TRUNCATIONS
from toolgate.protocol.modes import ApprovalMode, ToolGroup, ToolMode
from toolgate.protocol.unvalidated import trusted
from toolgate.tools.base import Tool
from toolgate.tools.names import checked_name

if TYPE_CHECKING:
    from toolgate.tools.context import ToolContext

E = TypeVar("E", bound=StrEnum)

_FLAGS = ("requires_permission", "read_only", "exclusive", "idempotent", "deferred")
_COLLECTIONS = (frozenset, set, list, tuple)
_MODES = "a set of ToolMode, for example {ToolMode.coding}"
_APPROVAL_MODES = "None or a set of ApprovalMode, for example {ApprovalMode.plan}"
_MAX_DEPTH = 100
_MAX_NODES = 100_000
"""How deep the schema of a tool's parameters may be nested, and how many objects and lists it may have."""
_SCALARS = frozenset({str, int, float, bool, type(None)})


class Declaration(NamedTuple):
    """A copy of what a tool declared. The gates use it; changing the tool or its class later changes nothing here."""

    name: str
    definition: ToolDefinition
    """What the model is told."""
    params: type[BaseModel] | None
    """The model of the arguments; None for a foreign tool, which has only a schema."""
    group: ToolGroup
    allowed_modes: frozenset[ToolMode]
    approval_modes: frozenset[ApprovalMode]
    """The approval modes in which it is shown and runs."""
    requires_permission: bool
    read_only: bool
    exclusive: bool
    idempotent: bool
    deferred: bool
    """Named in an agent's first request; its schema is offered on demand."""
    timeout: float | None
    needs: tuple[str, ...]
    keep: str
    keep_data: tuple[str, ...]
    own_permission: Callable[[Any, ToolContext], object] | None
    """The tool's own `needs_permission`; None if it has the default one."""
    ungated: bool = False
    """Passed to a toolset without a registry, so there are no modes to check."""

    @property
    def repeatable(self) -> bool:
        """Whether running a call twice does no harm."""
        return self.read_only or self.idempotent

    def asks_by_itself(self, tool: Tool[Any], params: Any, context: ToolContext) -> bool:
        """What the tool's own `needs_permission` says.

        A tool that has dropped `requires_permission` since it was registered always asks.
        """
        assert self.own_permission is not None
        if self.requires_permission and tool.requires_permission is not True:
            return True
        return self.own_permission(params, context) is not False


def asks_when(tool: Tool[Any], declared: Declaration) -> Literal["always", "risky", "never"]:
    """When calls of a tool ask a person: always, if what they plan is risky, or never. A policy may say otherwise."""
    if declared.requires_permission or declared.own_permission is not None:
        return "always"
    plans = type(tool).prepare is not Tool.prepare
    return "risky" if plans and not declared.read_only else "never"


def declaration_of(tool: Tool[Any], *, ungated: bool = False) -> Declaration:
    """Check and copy what `tool` declares; `DeclarationError` says what is wrong with it."""
    name = checked_name(_read(tool, "name", type(tool).__name__))
    flags = {flag: _flag(name, flag, _read(tool, flag, name)) for flag in _FLAGS}
    own = _read(tool, "needs_permission", name)
    if not callable(own):
        raise DeclarationError(f"tool {name!r}: needs_permission must be a method, not {own!r}")
    return Declaration(
        name=name,
        params=_params(tool, name),
        definition=_definition(tool, name),
        group=_group(name, _read(tool, "group", name)),
        allowed_modes=modes_of(_read(tool, "allowed_modes", name), f"tool {name!r}: allowed_modes", _COLLECTIONS),
        approval_modes=_approval_modes(name, _read(tool, "approval_modes", name), read_only=flags["read_only"]),
        timeout=_timeout(name, _read(tool, "timeout", name)),
        needs=_words(name, "needs", _read(tool, "needs", name)),
        keep=_keep(name, _read(tool, "keep", name)),
        keep_data=_words(name, "keep_data", _read(tool, "keep_data", name)),
        own_permission=None if getattr(own, "__func__", None) is Tool.needs_permission else own,
        ungated=ungated,
        **flags,
    )


def modes_of(value: object, what: str, kinds: tuple[type, ...] = (Iterable,)) -> frozenset[ToolMode]:
    """The modes in a collection. A mode may be written as its text, but the collection may not be a text itself."""
    if isinstance(value, str | bytes | Mapping) or not isinstance(value, kinds):
        raise DeclarationError(f"{what} must be {_MODES}, not {_shown(value)}")
    items: Iterable[object] = value  # type: ignore[assignment]  # every kind that is passed in is iterable
    return frozenset(_member(ToolMode, item, what, _MODES) for item in items)


def _approval_modes(name: str, value: object, *, read_only: bool) -> frozenset[ApprovalMode]:
    """The approval modes that a tool declares. By default, only a read-only tool is available in `plan`."""
    what = f"tool {name!r}: approval_modes"
    if value is None:
        return frozenset(ApprovalMode) if read_only else frozenset(ApprovalMode) - {ApprovalMode.plan}
    if isinstance(value, str | bytes | Mapping) or not isinstance(value, _COLLECTIONS):
        raise DeclarationError(f"{what} must be {_APPROVAL_MODES}, not {_shown(value)}")
    return frozenset(_member(ApprovalMode, item, what, _APPROVAL_MODES) for item in value)


def _member(kind: type[E], value: object, what: str, wanted: str) -> E:
    """A member, or the plain text of one; members of other enumerations do not count, whatever their text."""
    if type(value) is kind:
        return value
    if type(value) is str and value in kind.__members__.values():
        return kind(value)
    known = ", ".join(repr(member.value) for member in kind)
    raise DeclarationError(f"{what} must be {wanted}; {_shown(value)} is none of {known}")


def _read(tool: Tool[Any], attribute: str, name: str) -> Any:
    try:
        return getattr(tool, attribute)
    except AttributeError:
        if attribute not in dir(type(tool)):
            raise DeclarationError(f"tool {name!r} has no {attribute}") from None
        raise DeclarationError(f"tool {name!r}: its {attribute} cannot be read") from None
    except Exception as error:
        raise DeclarationError(f"tool {name!r}: its {attribute} cannot be read ({type(error).__name__})") from error


def _flag(name: str, flag: str, value: object) -> bool:
    if value is True or value is False:
        return value
    raise DeclarationError(f"tool {name!r}: {flag} must be True or False, not {_shown(value)}")


def _group(name: str, value: object) -> ToolGroup:
    return _member(ToolGroup, value, f"tool {name!r}: group", "a ToolGroup, for example ToolGroup.world")


def _timeout(name: str, value: object) -> float | None:
    if value is None:
        return None
    if isinstance(value, int | float) and not isinstance(value, bool) and math.isfinite(value) and value > 0:
        return float(value)
    raise DeclarationError(f"tool {name!r}: timeout must be seconds above 0, or None for none, not {_shown(value)}")


def _words(name: str, attribute: str, value: object) -> tuple[str, ...]:
    if isinstance(value, _COLLECTIONS) and all(isinstance(word, str) for word in value):
        return tuple(value)
    raise DeclarationError(f"tool {name!r}: {attribute} must be a tuple of names, not {_shown(value)}")


def _keep(name: str, value: object) -> str:
    if isinstance(value, str) and value in TRUNCATIONS:
        return str.__str__(value)
    raise DeclarationError(f"tool {name!r}: keep must be one of {', '.join(TRUNCATIONS)}, not {_shown(value)}")


def _params(tool: Tool[Any], name: str) -> type[BaseModel] | None:
    if not tool.has_params:
        return None
    params = _read(tool, "Params", name)
    if not isinstance(params, type) or BaseModel not in params.__mro__:
        raise DeclarationError(f"tool {name!r}: Params must be a class derived from BaseModel, not {_shown(params)}")
    return cast("type[BaseModel]", params)


def _definition(tool: Tool[Any], name: str) -> ToolDefinition:
    description, given_name = _read(tool, "description", name), name
    if type(tool).tool_definition is Tool.tool_definition and "tool_definition" not in vars(tool):
        parameters = _read(tool, "parameters", name)
    else:
        found = _read(tool, "tool_definition", name)
        given_name, description, parameters = (_read(found, field, name) for field in ToolDefinition.model_fields)
    if given_name != name:
        raise DeclarationError(f"tool {name!r}: its tool_definition has another name, {_shown(given_name)}")
    if not isinstance(description, str):
        raise DeclarationError(f"tool {name!r}: description must be text, not {_shown(description)}")
    if not isinstance(parameters, dict):
        raise DeclarationError(f"tool {name!r}: parameters must be a JSON Schema object, not {_shown(parameters)}")
    copy = _Copy(name).of(parameters, 0)
    return trusted(ToolDefinition, {"name": name, "description": str.__str__(description), "parameters": copy})


class _Copy:
    """Copies a JSON value. Refuses one that is not JSON or is too large."""

    def __init__(self, name: str) -> None:
        self._name = name
        self._nodes = 0

    def of(self, node: Any, depth: int) -> Any:
        """The copy of a node at this depth."""
        kind = type(node)
        if kind in _SCALARS:
            return node
        self._nodes += 1
        if depth > _MAX_DEPTH or self._nodes > _MAX_NODES:
            limits = f"{_MAX_DEPTH} levels or have more than {_MAX_NODES} objects and lists"
            raise DeclarationError(f"tool {self._name!r}: its parameters are nested deeper than {limits}")
        if kind is dict or isinstance(node, dict):
            if not all(type(key) is str for key in node):
                raise DeclarationError(f"tool {self._name!r}: its parameters are not JSON: a key is not a string")
            return {key: value if type(value) in _SCALARS else self.of(value, depth + 1) for key, value in node.items()}
        if isinstance(node, list | tuple):
            return [item if type(item) in _SCALARS else self.of(item, depth + 1) for item in node]
        if isinstance(node, str):  # a member of an enumeration, for example
            return str.__str__(node)
        raise DeclarationError(f"tool {self._name!r}: its parameters are not JSON: they contain {_shown(node)}")


def _shown(value: object) -> str:
    """A short form for messages; a value whose `repr` fails is named by its type."""
    try:
        return f"{value!r:.80}"
    except Exception:  # noqa: BLE001 - the value is foreign, and its `repr` must not break the message
        return f"a value of type {type(value).__name__}"
