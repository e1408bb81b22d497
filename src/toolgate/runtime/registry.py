"""The registry: which tools exist, and the one check of modes that both gates use."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from typing import TYPE_CHECKING, Any, NamedTuple

from toolgate.log import logger
from toolgate.protocol.calls import ToolDefinition
from toolgate.protocol.modes import AnyMode, ApprovalMode, ToolMode
from toolgate.tools.base import CallableTool, Tool
from toolgate.tools.declaration import Declaration, declaration_of
from toolgate.tools.lazy_tool import LazyTool
from toolgate.tools.modes import mode_of
from toolgate.tools.names import looks_of

if TYPE_CHECKING:
    from toolgate.runtime.toolset import CallableToolset
    from toolgate.tools.context import ToolContext


_READ_ONLY = "a filtered view is read-only: change the registry that it was made from"


def require_mode(mode: object) -> ToolMode:
    """`mode` if it is a `ToolMode`; a string that looks like one is not."""
    if not isinstance(mode, ToolMode):
        raise TypeError(f"mode must be a ToolMode, not {mode!r}")
    return mode


def require_approval_mode(approval_mode: object) -> ApprovalMode:
    """`approval_mode` if it is an `ApprovalMode`; a string that looks like one is not."""
    if not isinstance(approval_mode, ApprovalMode):
        raise TypeError(f"approval_mode must be an ApprovalMode, not {approval_mode!r}")
    return approval_mode


class Changes:
    """How often a registry has changed; its views share it."""

    __slots__ = ("count",)

    def __init__(self) -> None:
        self.count = 0


class _Admitted(NamedTuple):
    """The tools that the modes allow."""

    version: int
    """The count of changes when they were looked up."""
    declarations: list[Declaration]
    resting: dict[str, Tool[Any]]
    """Those of them with a `resting` of their own, which is called every time."""


def _may_rest(tool: Tool[Any]) -> bool:
    return getattr(tool.resting, "__func__", None) is not Tool.resting


class ToolRegistry:
    """Tools by name, with the modes that they declare and the overrides that restrict them."""

    def __init__(self) -> None:
        self._tools: dict[str, Tool[Any]] = {}
        self._declarations: dict[str, Declaration] = {}
        self._lazy: dict[str, LazyTool] = {}
        """Tools whose modules are not imported yet; the others are in `_tools`."""
        self._lookalikes: dict[str, str] = {}
        """What a name looks like, with similar characters replaced → the name that is registered."""
        self._overrides: dict[str, frozenset[ToolMode]] = {}
        self._listeners: dict[object, Callable[[], object]] = {}
        self._admitted: dict[tuple[ToolMode, ApprovalMode], _Admitted] = {}
        """The tools that the modes allow."""
        self._needed: tuple[int, frozenset[str]] = -1, frozenset()
        """The ports that some tool needs, and at which count of changes they were looked up."""
        self.changes = Changes()
        """A caller that caches an answer of this registry asks again when the count has changed."""

    @property
    def is_cacheable(self) -> bool:
        """Whether its answers stay the same until it changes. A subclass may answer differently every time."""
        return type(self) is ToolRegistry

    def on_change(self, listener: Callable[[], object]) -> Callable[[], None]:
        """Call `listener` after every change of the visible tools. The returned function ends this."""
        token = object()
        self._listeners[token] = listener

        def end() -> None:
            self._listeners.pop(token, None)

        return end

    def register(self, tool: Tool[Any] | CallableTool, *, modes: Iterable[AnyMode] | None = None) -> None:
        """Add a tool; what it declares is checked and copied now.

        `DeclarationError` says what is wrong with it. A name that is taken, or looks like one that is, is refused and
        the first tool stays.
        """
        if not isinstance(tool, Tool):
            from toolgate.tools.foreign import ForeignTool

            tool = ForeignTool(tool, () if modes is None else modes)
        elif modes is not None:
            raise TypeError(f"{type(tool).__name__} declares its own modes; use set_mode_override to tighten them")
        declaration = self.add(tool)
        if not declaration.allowed_modes:
            logger("registry").warning("tool_registered_with_default_modes", tool_name=declaration.name)

    def add(self, tool: Tool[Any], *, ungated: bool = False) -> Declaration:
        """Add a tool without a warning about its modes; `ungated` ones are shown and run in every mode."""
        declaration = declaration_of(tool, ungated=ungated)
        self._take_name(declaration.name)
        self._tools[declaration.name], self._declarations[declaration.name] = tool, declaration
        self._notify()
        return declaration

    def add_lazy(self, tool: LazyTool) -> None:
        """Add a tool whose module is imported when it is first returned by `get`."""
        name = tool.declaration.name
        self._take_name(name)
        self._lazy[name], self._declarations[name] = tool, tool.declaration
        self._notify()

    def _take_name(self, name: str) -> None:
        looks = looks_of(name)
        if name in self._declarations:
            raise ValueError(f"a tool named {name!r} is already registered: choose another name")
        if (alike := next((self._lookalikes[look] for look in looks if look in self._lookalikes), None)) is not None:
            raise ValueError(f"{name!r} looks like {alike!r}, which is already registered: choose another name")
        self._lookalikes |= dict.fromkeys(looks, name)

    def unregister(self, name: str) -> None:
        """Remove a tool and its override; `KeyError` if there is none."""
        if name not in self._declarations:
            raise KeyError(f"no tool named {name!r} is registered")
        del self._declarations[name]
        self._tools.pop(name, None)
        self._lazy.pop(name, None)
        self._lookalikes = {look: known for look, known in self._lookalikes.items() if known != name}
        self._overrides.pop(name, None)
        self._notify()

    def get(self, name: str) -> Tool[Any] | None:
        """The tool of that exact name, or None. A lazy tool is imported now; `DeclarationError` if it has changed."""
        if name in self._lazy:
            self._tools[name], self._declarations[name] = self._lazy[name].load()
            del self._lazy[name]
        return self._tools.get(name)

    def declaration(self, name: str) -> Declaration | None:
        """What the tool of that exact name declared when it was registered, or None. `get` completes a lazy one."""
        return self._declarations.get(name)

    def names(self) -> list[str]:
        """The names of all tools, in the order of registration."""
        return list(self._declarations)

    def describe(self) -> list[ToolDefinition]:
        """The definitions of all tools, whatever their modes."""
        return [found.definition for name in self.names() if (found := self.declaration(name)) is not None]

    def filter(self, names: Iterable[str]) -> ToolRegistry:
        """A live, read-only view of some tools; unknown names are ignored and `[]` means none."""
        return RegistryView(self, names)

    def get_effective_modes(self, name: str, approval_mode: ApprovalMode = ApprovalMode.ask) -> frozenset[ToolMode]:
        """The modes in which a tool may be seen and run while the person has that approval mode; empty if unknown."""
        declaration = self._declarations.get(name)
        if declaration is None or approval_mode not in declaration.approval_modes:
            return frozenset()
        return declaration.allowed_modes & self._overrides.get(name, declaration.allowed_modes)

    def check_mode(self, name: str, mode: ToolMode, approval_mode: ApprovalMode = ApprovalMode.ask) -> bool:
        """Whether a tool may be seen and run in `mode` and `approval_mode`. Both gates use only this check."""
        if type(mode) is not ToolMode or type(approval_mode) is not ApprovalMode:
            require_mode(mode)
            require_approval_mode(approval_mode)
        declaration = self._declarations.get(name)
        if declaration is None or mode not in declaration.allowed_modes:
            return False
        if approval_mode not in declaration.approval_modes:
            return False
        return name not in self._overrides or mode in self._overrides[name]

    def set_mode_override(self, name: str, modes: Iterable[ToolMode]) -> None:
        """Tighten a tool's modes, at once and for every toolset; the last override wins."""
        declaration = self._declarations.get(name)
        if declaration is None:
            raise KeyError(f"no tool named {name!r} is registered")
        wanted = frozenset(require_mode(mode) for mode in modes)
        if extra := wanted - declaration.allowed_modes:
            raise ValueError(f"an override can only tighten: {name!r} does not declare {', '.join(sorted(extra))}")
        self._overrides[name] = wanted
        self._notify()

    def list_tools(self, mode: ToolMode, approval_mode: ApprovalMode = ApprovalMode.ask) -> list[Tool[Any]]:
        """The tools that the modes allow; those that rest because what they depend on is down are left out."""
        found = (self.get(declared.name) for declared in self.list_declarations(mode, approval_mode))
        return [tool for tool in found if tool is not None]

    def list_declarations(self, mode: ToolMode, approval_mode: ApprovalMode = ApprovalMode.ask) -> list[Declaration]:
        """What those tools declared when they were registered."""
        require_mode(mode)
        require_approval_mode(approval_mode)
        known = self._admitted.get((mode, approval_mode))
        if known is None or known.version != self.changes.count or not self.is_cacheable:
            known = self._admitted[mode, approval_mode] = self._admit(mode, approval_mode)
        resting = {name for name, tool in known.resting.items() if tool.resting()[0] > 0}
        return [declared for declared in known.declarations if declared.name not in resting]

    def get_tools_schema(self, mode: ToolMode, approval_mode: ApprovalMode = ApprovalMode.ask) -> list[dict[str, Any]]:
        """The tools that the modes allow, in OpenAI's function format."""
        return [
            {"type": "function", "function": found.definition.model_dump()}
            for found in self.list_declarations(mode, approval_mode)
        ]

    def _admit(self, mode: ToolMode, approval_mode: ApprovalMode) -> _Admitted:
        names = [name for name in self.names() if self.check_mode(name, mode, approval_mode)]
        declarations = [declared for name in names if (declared := self.declaration(name)) is not None]
        tools = {name: self.get(name) for name in names if not self.is_lazy(name)}
        resting = {name: tool for name, tool in tools.items() if tool is not None and _may_rest(tool)}
        return _Admitted(self.changes.count, declarations, resting)

    def is_lazy(self, name: str) -> bool:
        """Whether the tool's module is not imported yet. Such a tool has no `resting` of its own."""
        return name in self._lazy

    def toolset(self, mode: AnyMode, context: ToolContext) -> CallableToolset:
        """The tools of `mode` behind both gates; `mode` wins over the context's.

        A tool that needs a port which the context does not have is left out.
        """
        from toolgate.runtime.toolset import CallableToolset

        return CallableToolset(self.with_ports_of(context), context.derive(mode=mode_of(mode)))

    def with_ports_of(self, context: ToolContext) -> ToolRegistry:
        """The tools whose ports the context has, as a live view."""
        if all(getattr(context, port, None) is not None for port in self._ports()):
            return self
        return RegistryView(self, _Ports(self, context))

    def _ports(self) -> frozenset[str]:
        """The ports that some tool needs."""
        count, ports = self._needed
        if count != self.changes.count or not self.is_cacheable:
            declared = map(self.declaration, self.names())
            ports = frozenset(port for found in declared if found is not None for port in found.needs)
            self._needed = self.changes.count, ports
        return ports

    def _notify(self) -> None:
        self.changes.count += 1
        for listener in list(self._listeners.values()):
            listener()


class _Ports:
    """The names of the tools whose ports a context has."""

    def __init__(self, registry: ToolRegistry, context: ToolContext) -> None:
        self._registry = registry
        self._context = context

    def __contains__(self, name: object) -> bool:
        found = self._registry.declaration(name) if isinstance(name, str) else None
        return found is None or all(getattr(self._context, port, None) is not None for port in found.needs)


class RegistryView(ToolRegistry):
    """Some of a registry's tools, as they are now; a tool that is filtered out does not exist here."""

    def __init__(self, parent: ToolRegistry, names: Iterable[str] | _Ports) -> None:
        super().__init__()
        if isinstance(names, str):
            raise TypeError("filter takes a list of names, not a string")
        self._parent = parent
        self.changes = parent.changes
        self._visible: frozenset[str] | _Ports = names if isinstance(names, _Ports) else frozenset(names)

    @property
    def is_cacheable(self) -> bool:
        """As the parent's."""
        return type(self) is RegistryView and self._parent.is_cacheable

    def on_change(self, listener: Callable[[], object]) -> Callable[[], None]:
        """The parent's changes: they may be about what this view shows."""
        return self._parent.on_change(listener)

    def get(self, name: str) -> Tool[Any] | None:
        """The tool of that exact name, if this view shows it."""
        return self._parent.get(name) if name in self._visible else None

    def declaration(self, name: str) -> Declaration | None:
        """What the tool of that exact name declared, if this view shows it."""
        return self._parent.declaration(name) if name in self._visible else None

    def is_lazy(self, name: str) -> bool:
        """The parent's answer."""
        return self._parent.is_lazy(name)

    def names(self) -> list[str]:
        """The names that this view shows, in the parent's order."""
        return [name for name in self._parent.names() if name in self._visible]

    def get_effective_modes(self, name: str, approval_mode: ApprovalMode = ApprovalMode.ask) -> frozenset[ToolMode]:
        """The parent's, for what this view shows."""
        if name not in self._visible:
            return frozenset()
        if approval_mode is ApprovalMode.ask:
            return self._parent.get_effective_modes(name)
        return self._parent.get_effective_modes(name, approval_mode)

    def check_mode(self, name: str, mode: ToolMode, approval_mode: ApprovalMode = ApprovalMode.ask) -> bool:
        """The parent's answer, for what this view shows."""
        if approval_mode is ApprovalMode.ask:  # a registry of another package may not know approval modes
            return self._parent.check_mode(name, mode) and name in self._visible
        return self._parent.check_mode(name, mode, approval_mode) and name in self._visible

    def register(self, tool: Tool[Any] | CallableTool, *, modes: Iterable[AnyMode] | None = None) -> None:
        """Refused: a view cannot be changed."""
        raise TypeError(_READ_ONLY)

    def add(self, tool: Tool[Any], *, ungated: bool = False) -> Declaration:
        """Refused: a view cannot be changed."""
        raise TypeError(_READ_ONLY)

    def add_lazy(self, tool: LazyTool) -> None:
        """Refused: a view cannot be changed."""
        raise TypeError(_READ_ONLY)

    def unregister(self, name: str) -> None:
        """Refused: a view cannot be changed."""
        raise TypeError(_READ_ONLY)

    def set_mode_override(self, name: str, modes: Iterable[ToolMode]) -> None:
        """Refused: a view cannot be changed."""
        raise TypeError(_READ_ONLY)
