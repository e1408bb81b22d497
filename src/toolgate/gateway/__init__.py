"""The gateway: serves sessions over WebSocket RPC and HTTP, with the web page in `static/`.

Lives here: routes, sign-in, the methods of the wire, and the frames that clients are sent.
May touch: sockets, and its own page in this package; files through `workspace/`, turns through the `TurnRunner` port.
Start reading: `app.py` (the routes), then `connection.py` and `methods.py` (requests) and `watcher.py` (frames).
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from toolgate.gateway.app import create_app
    from toolgate.gateway.mounting import mount

__all__ = ["create_app", "mount"]


def __getattr__(name: str) -> Any:
    if name in __all__:
        import importlib

        module = importlib.import_module(f"toolgate.gateway.{'app' if name == 'create_app' else 'mounting'}")
        return getattr(module, name)
    raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
