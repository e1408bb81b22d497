"""Toolgate's agent for editors that speak ACP, the Agent Client Protocol (Zed, JetBrains, Neovim).

Lives here: the requests of an editor, and turns and approvals as the updates that an editor shows.
May touch: the `acp` package, which is imported on first use, and standard input and output.
Start reading: `agent.py` (the requests), then `updates.py` (what the editor is shown).
"""

from typing import TYPE_CHECKING, Any

from toolgate.extras import require_extra

if TYPE_CHECKING:
    from toolgate.adapters.acp.agent import EditorAgent
    from toolgate.adapters.acp.stdio import serve_stdio

__all__ = ["EditorAgent", "serve_stdio"]

require_extra("acp")
_MODULES = {"EditorAgent": "agent", "serve_stdio": "stdio"}


def __getattr__(name: str) -> Any:
    if name not in _MODULES:
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    import importlib

    return getattr(importlib.import_module(f"{__name__}.{_MODULES[name]}"), name)
