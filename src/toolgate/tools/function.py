"""`@tool`: a typed function becomes a `Tool`, and stays callable."""

from __future__ import annotations

import asyncio
import functools
import inspect
import re
import threading
from collections.abc import Callable, Iterable
from typing import Annotated, Any, Generic, ParamSpec, Protocol, TypeVar, get_args, get_origin, get_type_hints, overload

from pydantic import BaseModel, ConfigDict, Field, create_model
from pydantic.fields import FieldInfo

from toolgate.protocol.envelope import ToolResponse
from toolgate.protocol.modes import AnyMode, ToolGroup
from toolgate.tools.base import Tool
from toolgate.tools.context import ToolContext
from toolgate.tools.declaration import modes_of

Arguments = ParamSpec("Arguments")
Returned = TypeVar("Returned")
_ENTRY = r"^(\s*)\*{0,2}(\w+)\s*(?:\([^)]*\))?:\s*(.*)$"
_SECTION = r"^(\w[\w ]*):\s*$"
_PREFIX = "field_"


class FunctionTool(Tool[BaseModel], Generic[Arguments, Returned]):
    """A tool made of a function; calling it calls the function, with the function's own types."""

    def __init__(self, function: Callable[Arguments, Returned], **options: Any) -> None:
        functools.update_wrapper(self, function, updated=())
        summary, documented = parse_docstring(inspect.getdoc(function) or "")
        self.function: Callable[..., Any] = function
        self.name = options.pop("name") or function.__name__  # type: ignore[misc]  # a class attribute on hand-written tools
        self.description = options.pop("description") or summary or self.name  # type: ignore[misc]  # as above
        self.Params, self._context_name = params_of(function, self.name, documented)  # type: ignore[misc]  # as above
        self._renamed = {f"{_PREFIX}{name}": name for name in inspect.signature(function).parameters if _is_taken(name)}
        self.success_text = f"{self.name} returned a result."
        self._is_async = inspect.iscoroutinefunction(function)
        self.is_plain = self._is_async and self._context_name is None and not self._renamed
        """Whether the function can be awaited with the parameters alone."""
        for option, value in options.items():
            setattr(self, option, value)

    def __call__(self, *args: Arguments.args, **kwargs: Arguments.kwargs) -> Returned:
        """Call the function as if it had not been decorated."""
        value: Returned = self.function(*args, **kwargs)
        return value

    @property
    def blocks(self) -> bool:
        """Whether the function is synchronous: it runs in a thread, and nothing can stop it."""
        return not self._is_async

    async def execute(self, params: BaseModel, context: ToolContext, thread: ThreadCall | None = None) -> ToolResponse:
        """Call the function with the validated values; a synchronous one runs in a thread.

        `thread` then knows whether the function still runs, even after the call was answered.
        """
        arguments = params.__dict__
        if self._renamed:
            arguments = {self._renamed.get(field, field): value for field, value in arguments.items()}
        if self._context_name:
            arguments = {**arguments, self._context_name: context}
        if self._is_async:
            value = await self.function(**arguments)
        else:
            value = await asyncio.to_thread((thread or ThreadCall()).call, self.function, arguments)
            if inspect.isawaitable(value):
                value = await value
        if isinstance(value, ToolResponse):
            return value
        return ToolResponse.success({"result": value}, self.success_text)


class ThreadCall:
    """One call of a function in a thread."""

    def __init__(self) -> None:
        self._lock = threading.Lock()
        self._withdrawn = False
        self._runs = False

    def is_running(self) -> bool:
        """Whether the function runs. Ask only after the call was answered: one that has not begun then never will."""
        with self._lock:
            self._withdrawn = True
            return self._runs

    def call(self, function: Callable[..., Any], arguments: dict[str, Any]) -> Any:
        """Call it; `StopIteration` cannot leave a thread, and `GeneratorExit` would end the task that waits for it."""
        with self._lock:
            if self._withdrawn:
                raise RuntimeError("the call was withdrawn before it began")
            self._runs = True
        try:
            return function(**arguments)
        except (StopIteration, GeneratorExit) as error:
            raise RuntimeError(f"the function raised {type(error).__name__}") from error
        finally:
            self._runs = False


def params_of(
    function: Callable[..., Any], name: str, documented: dict[str, str]
) -> tuple[type[BaseModel], str | None]:
    """The parameter model of a function, and the name of its `ToolContext` parameter if it has one."""
    hints = get_type_hints(function, include_extras=True)
    fields: dict[str, Any] = {}
    context_name = None
    for parameter in inspect.signature(function).parameters.values():
        if parameter.kind not in (parameter.POSITIONAL_OR_KEYWORD, parameter.KEYWORD_ONLY):
            raise TypeError(f"tool {name!r}: parameter {parameter.name!r} must be a plain named parameter")
        if parameter.name not in hints:
            raise TypeError(f"tool {name!r}: parameter {parameter.name!r} has no type: annotate it")
        annotation = hints[parameter.name]
        if annotation is ToolContext or ToolContext in get_args(annotation):
            context_name = parameter.name
            continue
        default = ... if parameter.default is parameter.empty else parameter.default
        annotation, field = _field(annotation, default, documented.get(parameter.name))
        if _is_taken(parameter.name):
            fields[f"{_PREFIX}{parameter.name}"] = Annotated[annotation, Field(alias=parameter.name)], field
        else:
            fields[parameter.name] = annotation, field
    config = ConfigDict(extra="forbid", protected_namespaces=())
    model = create_model(f"{name}_params", __config__=config, **fields)
    return model, context_name


def _is_taken(name: str) -> bool:
    """Whether a field of a model cannot have this name: it then has another one, and this one in JSON."""
    return name.startswith("_") or hasattr(BaseModel, name)


def _field(annotation: Any, default: Any, description: str | None) -> tuple[Any, Any]:
    described = get_origin(annotation) is Annotated and any(
        isinstance(extra, FieldInfo) and extra.description for extra in get_args(annotation)[1:]
    )
    if description and not described and not isinstance(default, FieldInfo):
        return annotation, Field(default, description=description)
    return annotation, default


def parse_docstring(docstring: str) -> tuple[str, dict[str, str]]:
    """A Google-style docstring's text before its sections, and the descriptions under `Args:`."""
    summary: list[str] = []
    documented: dict[str, str] = {}
    section = current = ""
    indent = 0
    for line in docstring.splitlines():
        if heading := re.match(_SECTION, line):
            section, current = heading[1].lower(), ""
        elif not section:
            summary.append(line)
        elif section in {"args", "arguments", "parameters"} and line.strip():
            entry = re.match(_ENTRY, line)
            if entry and (not current or len(entry[1]) <= indent):
                current, indent = entry[2], len(entry[1])
                documented[current] = entry[3].strip()
            elif current:
                documented[current] = f"{documented[current]} {line.strip()}".strip()
    return "\n".join(summary).strip(), documented


class ToolDecorator(Protocol):
    """What `tool(modes=…)` returns: it keeps the types of the function that it decorates."""

    def __call__(self, target: Callable[Arguments, Returned], /) -> FunctionTool[Arguments, Returned]:
        """Turn the function into a tool."""
        ...


@overload
def tool(function: Callable[Arguments, Returned], /) -> FunctionTool[Arguments, Returned]: ...


@overload
def tool(
    *,
    name: str | None = ...,
    description: str | None = ...,
    modes: Iterable[AnyMode] = ...,
    group: ToolGroup = ...,
    requires_permission: bool = ...,
    read_only: bool = ...,
    idempotent: bool = ...,
    deferred: bool = ...,
    timeout: float | None = ...,
) -> ToolDecorator: ...


def tool(
    function: Callable[..., Any] | None = None,
    /,
    *,
    name: str | None = None,
    description: str | None = None,
    modes: Iterable[AnyMode] = (),
    group: ToolGroup = ToolGroup.code,
    requires_permission: bool = False,
    read_only: bool = False,
    idempotent: bool = False,
    deferred: bool = False,
    timeout: float | None = None,
) -> Any:
    """Turn a typed function into a tool. Without `modes` it is neither shown nor run anywhere."""

    def decorate(target: Callable[Arguments, Returned]) -> FunctionTool[Arguments, Returned]:
        if not hasattr(target, "__name__"):
            raise TypeError(f"@tool decorates a function, not {target!r:.80}: write `def my_tool(…)` below it")
        return FunctionTool(
            target,
            name=name,
            description=description,
            allowed_modes=modes_of(modes, "modes"),
            group=group,
            requires_permission=requires_permission,
            read_only=read_only,
            idempotent=idempotent,
            deferred=deferred,
            timeout=timeout,
        )

    return decorate if function is None else decorate(function)
