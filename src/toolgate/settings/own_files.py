"""The runtime's own files, wherever the settings put them: no tool writes them, and no command sees them."""

from __future__ import annotations

import os
from collections.abc import Iterator
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from toolgate.settings.settings import Settings


def own_files(settings: Settings, root: str | os.PathLike[str]) -> Iterator[str]:
    """Yield their absolute paths, whether they exist or not. The path of a database may be relative to `root`.

    The user's directory of skills, commands and hooks is one of them, with everything in it. If it is the root itself,
    its hooks are still protected.
    """
    gateway = settings.gateway
    users = settings.user_directory
    files = (
        settings.policy_file,
        settings.config_file,
        settings.mcp_config,
        gateway.token_file,
        gateway.tls_cert,
        gateway.tls_key,
        users,
        users and users / "hooks.json",
    )
    yield from (os.path.abspath(path) for path in files if path is not None)
    scheme, _, path = settings.database.address.partition(":///")
    if scheme.startswith("sqlite") and path and not path.startswith(":"):
        database = os.path.join(root, path.partition("?")[0])
        yield from (database + suffix for suffix in ("", "-wal", "-shm", "-journal"))
