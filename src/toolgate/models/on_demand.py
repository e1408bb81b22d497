"""Loading a large package without the parts of it that nobody uses.

The providers' SDKs name hundreds of types in the `__init__` of their packages, and importing any of them builds all:
500 to 2,700 modules, most of a second. Here such a package begins empty and imports what is asked of it, name by name;
for whoever uses it it is the same package with the same objects. What cannot be found that way runs its `__init__`.
"""

from __future__ import annotations

import dis
import gc
import importlib
import sys
import threading
from collections.abc import Sequence
from importlib.machinery import ModuleSpec, PathFinder
from types import ModuleType
from typing import Any

_STATE = "_toolgate_on_demand"
_lock = threading.Lock()


def load(package: str) -> ModuleType:
    """Import a package whose parts come on demand; one that is loaded already is taken as it is."""
    with _lock:
        if package in sys.modules:
            return sys.modules[package]
        sys.meta_path.insert(0, _Finder(package))
    collects = gc.isenabled()
    gc.disable()  # everything that is made here stays: looking for what does not takes a fifth of the time
    try:
        return importlib.import_module(package)
    finally:
        if collects:
            gc.enable()


class _Finder:
    """Finds the packages below one name."""

    def __init__(self, package: str) -> None:
        self._package = package

    def find_spec(
        self, fullname: str, path: Sequence[str] | None = None, target: ModuleType | None = None
    ) -> ModuleSpec | None:
        """A package gets a loader that waits; modules are loaded as always."""
        if fullname != self._package and not fullname.startswith(f"{self._package}."):
            return None
        spec = PathFinder.find_spec(fullname, path)
        if spec is not None and spec.submodule_search_locations is not None and hasattr(spec.loader, "get_code"):
            waiting: Any = _Waiting(spec.loader)
            spec.loader = waiting
        return spec


class _Waiting:
    """Runs nothing until something is asked for that cannot be had otherwise."""

    def __init__(self, loader: Any) -> None:
        self.loader = loader
        self.names: dict[str, tuple[str, str]] | None = None
        self.filling: set[int] = set()
        """Threads that run the package's code now."""

    def create_module(self, spec: ModuleSpec) -> ModuleType:
        """An empty package."""
        return _Package(spec.name)

    def exec_module(self, module: ModuleType) -> None:
        """Remember how to fill it."""
        module.__dict__[_STATE] = self


class _Package(ModuleType):
    """A package that is filled name by name. `__getattr__` is only asked for what is not there yet."""

    def __getattr__(self, name: str) -> Any:
        own = self.__dict__
        waiting: _Waiting | None = own.get(_STATE)
        if waiting is None or threading.get_ident() in waiting.filling:
            return _own(self, name)  # another thread was faster, or it is a name that the code itself has not made yet
        if waiting.names is None:
            waiting.names = _imported(waiting.loader.get_code(own["__name__"]))
        if (found := waiting.names.get(name)) is not None:
            module, attribute = found
            value = own[name] = getattr(importlib.import_module(module, own["__package__"]), attribute)
            return value
        if name.startswith("__") and name != "__all__":
            return _own(self, name)
        if PathFinder.find_spec(f"{own['__name__']}.{name}", own["__path__"]) is not None:
            return importlib.import_module(f"{own['__name__']}.{name}")
        _fill(self, waiting)
        return _own(self, name)


def _own(package: ModuleType, name: str) -> Any:
    """What is there, or the usual error."""
    try:
        return package.__dict__[name]
    except KeyError:
        raise AttributeError(f"module {package.__name__!r} has no attribute {name!r}") from None


def _fill(package: ModuleType, waiting: _Waiting) -> None:
    """Run the package's own code; what was set from outside meanwhile stays.

    Two threads may both do so. That is no harm, as it only names things; a lock here and the locks of the modules that
    it imports could wait for each other.
    """
    own = package.__dict__
    before = {name: value for name, value in own.items() if not name.startswith("__")}
    waiting.filling.add(threading.get_ident())
    try:
        waiting.loader.exec_module(package)
    finally:
        waiting.filling.discard(threading.get_ident())
    own.update(before)
    own.pop(_STATE, None)


def _imported(code: Any) -> dict[str, tuple[str, str]]:
    """What a package's code takes over from modules of its own: each name with the module and the name there."""
    found: dict[str, tuple[str, str]] = {}
    constants: list[Any] = [0, 0]
    module = attribute = ""
    for step in dis.get_instructions(code):
        if step.opname.startswith("LOAD_CONST") or step.opname == "LOAD_SMALL_INT":
            constants = [constants[-1], step.argval]
        elif step.opname == "IMPORT_NAME":
            level = constants[0]
            module, attribute = ("." * level + step.argval if level else ""), ""
        elif step.opname == "IMPORT_FROM":
            attribute = step.argval
        elif step.opname == "STORE_NAME":
            found.pop(step.argval, None)
            if module.strip(".") and attribute:
                found[step.argval] = module, attribute
            attribute = ""
    return found
