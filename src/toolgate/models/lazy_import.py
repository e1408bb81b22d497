"""Imports a large package without the parts that are not used.

The `__init__` modules of the providers' SDKs import hundreds of types: 500 to 2,700 modules, most of a second. A
package imported with `load` starts empty. It imports each name when the name is first used, and its objects are the
same as after a normal import. For a name that cannot be found this way, the package's `__init__` runs after all.
"""

from __future__ import annotations

import ast
import importlib
import sys
import threading
from collections.abc import Iterator, Sequence
from importlib.machinery import ModuleSpec, PathFinder
from types import ModuleType
from typing import Any

from toolgate.garbage import collection_postponed

_STATE = "_toolgate_lazy_import"
_lock = threading.Lock()


def load(package: str) -> ModuleType:
    """Import a package lazily. A package that is already imported is returned as it is."""
    with _lock:
        if package in sys.modules:
            return sys.modules[package]
        sys.meta_path.insert(0, _LazyFinder(package))
    with collection_postponed():  # it would take a fifth of the import time
        return importlib.import_module(package)


class _LazyFinder:
    """Finds a package and its subpackages."""

    def __init__(self, package: str) -> None:
        self._package = package

    def find_spec(
        self, fullname: str, path: Sequence[str] | None = None, target: ModuleType | None = None
    ) -> ModuleSpec | None:
        """Packages get a lazy loader; plain modules load as usual."""
        if fullname != self._package and not fullname.startswith(f"{self._package}."):
            return None
        spec = PathFinder.find_spec(fullname, path)
        if spec is not None and spec.submodule_search_locations is not None and hasattr(spec.loader, "get_source"):
            lazy: Any = _LazyLoader(spec.loader)
            spec.loader = lazy
        return spec


class _LazyLoader:
    """Runs a package's code only when a name cannot be found otherwise."""

    def __init__(self, loader: Any) -> None:
        self.loader = loader
        self.names: dict[str, tuple[str, str]] | None = None
        self.running: set[int] = set()
        """Ids of the threads that are running the package's code."""

    def create_module(self, spec: ModuleSpec) -> ModuleType:
        """Create an empty package."""
        return _LazyPackage(spec.name)

    def exec_module(self, module: ModuleType) -> None:
        """Store the state that `__getattr__` needs."""
        module.__dict__[_STATE] = self


class _LazyPackage(ModuleType):
    """A package whose names are imported one by one. `__getattr__` is called only for missing names."""

    def __getattr__(self, name: str) -> Any:
        own = self.__dict__
        lazy: _LazyLoader | None = own.get(_STATE)
        if lazy is None or threading.get_ident() in lazy.running:
            # another thread has finished, or the package's code has not defined the name yet
            return _attribute(self, name)
        if lazy.names is None:
            lazy.names = _imported_names(lazy.loader.get_source(own["__name__"]))
        if (found := lazy.names.get(name)) is not None:
            module, attribute = found
            value = own[name] = getattr(importlib.import_module(module, own["__package__"]), attribute)
            return value
        if name.startswith("__") and name != "__all__":
            return _attribute(self, name)
        if PathFinder.find_spec(f"{own['__name__']}.{name}", own["__path__"]) is not None:
            return importlib.import_module(f"{own['__name__']}.{name}")
        _run_init(self, lazy)
        return _attribute(self, name)


def _attribute(package: ModuleType, name: str) -> Any:
    """Return the attribute or raise the usual error."""
    try:
        return package.__dict__[name]
    except KeyError:
        raise AttributeError(f"module {package.__name__!r} has no attribute {name!r}") from None


def _run_init(package: ModuleType, lazy: _LazyLoader) -> None:
    """Run the package's code. Attributes that were set meanwhile are kept.

    Two threads may do this at the same time, which is harmless because the code only binds names. A lock here could
    deadlock with the import locks of the modules.
    """
    own = package.__dict__
    before = {name: value for name, value in own.items() if not name.startswith("__")}
    lazy.running.add(threading.get_ident())
    try:
        lazy.loader.exec_module(package)
    finally:
        lazy.running.discard(threading.get_ident())
    own.update(before)
    own.pop(_STATE, None)


def _imported_names(source: str) -> dict[str, tuple[str, str]]:
    """Map each name that a package imports from its modules (`from .x import y`) to the module and the name there.

    A name that the code also binds in another way is left out: only running the code tells its value.
    """
    found: dict[str, tuple[str, str]] = {}
    for statement in ast.parse(source).body:
        for name in _bound_names(statement):
            found.pop(name, None)
        if isinstance(statement, ast.ImportFrom) and statement.level and statement.module:
            module = "." * statement.level + statement.module
            found |= {alias.asname or alias.name: (module, alias.name) for alias in statement.names}
    return found


def _bound_names(statement: ast.stmt) -> Iterator[str]:
    """The names that a statement may bind."""
    for node in ast.walk(statement):
        if isinstance(node, ast.Name) and isinstance(node.ctx, ast.Store):
            yield node.id
        elif isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef | ast.ClassDef):
            yield node.name
        elif isinstance(node, ast.alias):
            yield node.asname or node.name
