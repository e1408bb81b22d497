"""The runtime's own files, wherever the settings put them: no tool writes them, and no command sees them."""

from __future__ import annotations

import os
from collections.abc import Iterator
from typing import TYPE_CHECKING

from toolgate.userfiles import ADDRESS_FILE, TOKEN_FILE

if TYPE_CHECKING:
    from toolgate.settings.settings import Settings


def own_files(settings: Settings, root: str | os.PathLike[str]) -> Iterator[str]:
    """Yield their absolute paths, whether they exist or not. The path of a database may be relative to `root`.

    The user's directory of skills, commands and hooks is one of them, with everything in it, and so is the directory
    of the runtime's data. If one of them is the root itself, the files in it are still protected.
    """
    if settings.user_directory is not None:
        yield os.path.abspath(settings.user_directory)
    yield from unread_files(settings, root)


def unread_files(settings: Settings, root: str | os.PathLike[str]) -> Iterator[str]:
    """Yield those of them that no tool reads, either: all but the user's skills and commands."""
    gateway, users, data = settings.gateway, settings.user_directory, settings.data_directory
    files = (
        settings.policy_file,
        settings.config_file,
        settings.mcp_config,
        gateway.token_file,
        gateway.tls_cert,
        gateway.tls_key,
        users and users / "hooks.json",
        users and users / "mcp-approvals.json",
        data,
        data and data / TOKEN_FILE,
        data and data / ADDRESS_FILE,
    )
    yield from (os.path.abspath(path) for path in files if path is not None)
    scheme, _, path = settings.database.address.partition(":///")
    if scheme.startswith("sqlite") and path and not path.startswith(":"):
        database = os.path.join(root, path.partition("?")[0])
        yield from (database + suffix for suffix in ("", "-wal", "-shm", "-journal"))
