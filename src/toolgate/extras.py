"""Optional packages: which extra of Toolgate brings which of them, and what to say if one is missing."""

from __future__ import annotations

import contextlib
from collections.abc import Iterator
from importlib.util import find_spec

from toolgate.errors import MissingPackage

EXTRAS = {
    "acp": ("acp",),
    "cli": ("prompt_toolkit", "rich"),
    "distributed": ("pgqueuer",),
    "documents": ("PIL", "pypdf", "pypdfium2"),
    "gateway": ("starlette", "uvicorn", "websockets", "markdown_it", "pygments"),
    "langchain": ("langchain_core",),
    "mcp": ("mcp", "mcp_types", "jsonschema_rs"),
    "metrics": ("prometheus_client",),
    "openai-agents": ("agents",),
    "otel": ("opentelemetry",),
    "postgres": ("alembic", "asyncpg", "sqlalchemy"),
    "pydantic-ai": ("pydantic_ai",),
}
"""The modules that each extra brings, by the name that is imported. Providers of models have their own table."""

_PACKAGES = {
    "acp": "agent-client-protocol",
    "agents": "openai-agents",
    "langchain_core": "langchain-core",
    "PIL": "pillow",
}
"""Packages whose name differs from the module's in more than an underscore."""
_COMES_WITH = {"anyio": "mcp", "httpx2": "mcp"}
"""Modules that are imported here and come with a package of an extra, by the module that they come with."""


def missing_package(error: ModuleNotFoundError) -> MissingPackage | None:
    """Return the error that says what to install; None if the module belongs to no extra."""
    module = (error.name or "").partition(".")[0]
    module = _COMES_WITH.get(module, module)
    extra = next((extra for extra, modules in EXTRAS.items() if module in modules), None)
    if isinstance(error, MissingPackage) or extra is None:
        return None
    package = _PACKAGES.get(module, module.replace("_", "-"))
    return MissingPackage(f"{package} is not installed: pip install 'toolgate[{extra}]'", name=module)


def require_extra(extra: str) -> None:
    """Raise `MissingPackage` if a package of this extra is missing, without importing any."""
    for module in EXTRAS[extra]:
        if find_spec(module) is None:
            raise missing_package(ModuleNotFoundError(name=module)) or AssertionError(module)


@contextlib.contextmanager
def optional_imports() -> Iterator[None]:
    """Imports of optional packages go into this block: a missing one raises `MissingPackage`."""
    try:
        yield
    except ModuleNotFoundError as error:
        explained = missing_package(error)
        if explained is None:
            raise
        raise explained from None
