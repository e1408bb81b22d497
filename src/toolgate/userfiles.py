"""The user's own files: where they are, and how the config file is read. They belong to no project."""

from __future__ import annotations

import json
import os
import re
import stat
import sys
from collections.abc import Mapping
from pathlib import Path
from typing import Any, NamedTuple

from toolgate.errors import ConfigError
from toolgate.system import O_BINARY, O_CLOEXEC, O_NOCTTY, O_NOFOLLOW, O_NONBLOCK

VARIABLE = "TOOLGATE_CONFIG_FILE"
_MAX_BYTES = 1 << 20
_HEADER = r"\s*\[\s*(?P<name>[^\[\]]+?)\s*\]\s*(?:#.*)?"
_KEY = r"\s*(?P<name>(?:[\w-]+|\"[^\"]*\"|'[^']*')(?:\s*\.\s*(?:[\w-]+|\"[^\"]*\"|'[^']*'))*)\s*="


def users_config(environ: Mapping[str, str]) -> Path | None:
    """Return the config file: the named one, else `toolgate/config.toml` in the user's config directory."""
    named = environ.get(VARIABLE)
    if named == "":
        raise ConfigError([f"{VARIABLE}: is empty. Unset it for the default place, or set it to a TOML file"])
    return Path(named) if named is not None else _in_config_directory(environ, "config.toml")


def users_directory(environ: Mapping[str, str]) -> Path | None:
    """Return `toolgate` in the user's config directory, with skills, commands and hooks; None if HOME is unset."""
    found = _in_config_directory(environ, "config.toml")
    return None if found is None else found.parent


def users_policy(environ: Mapping[str, str]) -> Path | None:
    """Return `toolgate/policy.toml` in the user's config directory; None if HOME is unset."""
    return _in_config_directory(environ, "policy.toml")


def users_servers(environ: Mapping[str, str]) -> Path | None:
    """Return `toolgate/mcp.json` in the user's config directory; None if HOME is unset."""
    return _in_config_directory(environ, "mcp.json")


def users_approvals(environ: Mapping[str, str]) -> Path | None:
    """Return `toolgate/mcp-approvals.json` in the user's config directory; None if HOME is unset."""
    return _in_config_directory(environ, "mcp-approvals.json")


def users_database(environ: Mapping[str, str]) -> str:
    """Return `toolgate/toolgate.db` in the user's data directory, or below the current directory if HOME is unset."""
    configured, home = environ.get("XDG_DATA_HOME", ""), environ.get("HOME", "")
    if configured.startswith("/"):
        return f"sqlite:///{configured.rstrip('/')}/toolgate/toolgate.db"
    if home.startswith("/"):
        return f"sqlite:///{home.rstrip('/')}/.local/share/toolgate/toolgate.db"
    return "sqlite:///.toolgate/toolgate.db"


TOKEN_FILE = "gateway-token"
"""Beside the user's database: the token of a gateway that only this machine can reach."""
ADDRESS_FILE = "gateway-address"
"""Beside the user's database: where the user's last gateway listens."""


def users_data(environ: Mapping[str, str], name: str = "") -> Path | None:
    """Return a file beside the user's database, or their directory; None if HOME is unset."""
    configured, home = environ.get("XDG_DATA_HOME", ""), environ.get("HOME", "")
    if configured.startswith("/"):
        return Path(configured, "toolgate", name)
    return Path(home, ".local", "share", "toolgate", name) if home.startswith("/") else None


def _in_config_directory(environ: Mapping[str, str], name: str) -> Path | None:
    configured, home = environ.get("XDG_CONFIG_HOME", ""), environ.get("HOME", "")
    if configured.startswith("/"):
        return Path(configured, "toolgate", name)
    return Path(home, ".config", "toolgate", name) if home.startswith("/") else None


class ConfigFile(NamedTuple):
    """The parsed config file, and whether others can access it."""

    path: Path
    values: Mapping[str, Any]
    """The parsed TOML, not checked yet."""
    private: bool
    """Whether only its owner can read it."""
    text: str

    def where(self, table: str, key: str = "") -> str:
        """`FILE, line N, [table] key`, for messages."""
        line = self._line(table, key)
        name = f"[{table}] {key}".strip() if table else key
        return f"{self.path}{f', line {line}' if line else ''}, {name}"

    def _line(self, table: str, key: str) -> int | None:
        """Find the line of a key, or of its table. The parser does not report lines."""
        current, header = "", None
        wanted = f"{table}.{key}" if table and key else table or key
        for number, line in enumerate(self.text.splitlines(), 1):
            if match := re.fullmatch(_HEADER, line):
                current = _bare(match["name"])
                if current == wanted:
                    return number
                header = number if current == table else header
            elif match := re.match(_KEY, line):
                name = _bare(match["name"])
                dotted = f"{current}.{name}" if current else name
                if dotted == wanted or dotted.startswith(f"{wanted}."):
                    return number
        return header


def _bare(name: str) -> str:
    return ".".join(part.strip().strip("\"'") for part in name.split("."))


def read_config_file(environ: Mapping[str, str]) -> ConfigFile | None:
    """Return the config file, or None if there is none. A file that was named must exist."""
    path = users_config(environ)
    if path is None:
        return None
    advice = f"Mend it, or set {VARIABLE} to another file"
    try:
        text, mode = _read(path)
    except FileNotFoundError:
        if VARIABLE not in environ:
            return None
        raise ConfigError([f"{path}: there is no such file. Make it, or unset {VARIABLE}"]) from None
    except (OSError, ValueError) as error:
        reason = error.strerror if isinstance(error, OSError) and error.strerror else str(error)
        raise ConfigError([f"{path}: cannot be read: {reason}. {advice}"]) from None
    if mode & stat.S_IWOTH:
        raise ConfigError([f"{path}: everybody may write to it. Say chmod 600 {path}"])
    return ConfigFile(path=path, values=_parsed(path, text), private=not mode & 0o077, text=text)


def write_config_table(environ: Mapping[str, str], table: str, values: Mapping[str, str | int | None]) -> Path:
    """Set keys of one table of the config file, and return the file. Everything else in it stays as it is.

    None removes a key. Only the owner can read the file afterwards. It is replaced as a whole or not at all, and
    `ConfigError` says why not.
    """
    path = users_config(environ)
    if path is None:
        raise ConfigError([f"there is no place for a config file: set HOME, or {VARIABLE} to a TOML file"])
    try:
        text = _read(path)[0]
    except FileNotFoundError:
        text = ""
    except (OSError, ValueError) as error:
        raise ConfigError([f"{path}: cannot be read: {error}. Mend it, or set {VARIABLE} to another file"]) from None
    before = _parsed(path, text)
    new = _edited(text, table, values)
    wanted = {key: value for key, value in {**before.get(table, {}), **values}.items() if value is not None}
    if _parsed(path, new) != {**before, table: wanted}:
        raise ConfigError([f"{path}: [{table}] is written in a form that cannot be changed here. Change it by hand"])
    try:
        _replace(Path(os.path.realpath(path)), new)
    except OSError as error:
        raise ConfigError([f"{path}: cannot be written: {error.strerror}"]) from None
    return path


def _edited(text: str, table: str, values: Mapping[str, str | int | None]) -> str:
    """The text with other values in one table; the table is added at the end if there is none."""
    lines, kept, inside, at = text.splitlines(), list[str](), False, -1
    for line in lines:
        if match := re.fullmatch(_HEADER, line):
            inside = _bare(match["name"]) == table
        elif line.lstrip().startswith("[["):
            inside = False
        key = re.match(_KEY, line) if inside else None
        if key is None or _bare(key["name"]) not in values:
            kept.append(line)
        if inside and (match or key):
            at = len(kept)
    rows = [f"{key} = {json.dumps(value)}" for key, value in values.items() if value is not None]
    if at < 0:
        rows = [*([""] if kept and kept[-1] else []), f"[{table}]", *rows]
        at = len(kept)
    return "\n".join([*kept[:at], *rows, *kept[at:]]) + "\n"


def _replace(path: Path, text: str) -> None:
    """Replace a file at once; only its owner can read it."""
    path.parent.mkdir(mode=0o700, parents=True, exist_ok=True)
    beside = path.with_name(f".{path.name}.{os.getpid()}")
    descriptor = os.open(beside, os.O_WRONLY | os.O_CREAT | os.O_TRUNC | O_NOFOLLOW | O_CLOEXEC, 0o600)
    try:
        with os.fdopen(descriptor, "w", encoding="utf-8") as file:
            os.chmod(beside, 0o600)
            file.write(text)
            file.flush()
            os.fsync(descriptor)
        os.replace(beside, path)
    except BaseException:
        beside.unlink(missing_ok=True)
        raise


def read_token_file(path: Path) -> str:
    """Return the text of a file with tokens. Raises `ConfigError` if others may read it."""
    advice = "Mend it, or set TOOLGATE_GATEWAY_TOKEN_FILE to another file"
    try:
        text, mode = _read(path)
    except (OSError, ValueError) as error:
        reason = error.strerror if isinstance(error, OSError) and error.strerror else str(error)
        raise ConfigError([f"{path}: cannot be read: {reason}. {advice}"]) from None
    if mode & 0o077:
        raise ConfigError([f"{path}: has tokens in it, and others may read it. Say chmod 600 {path}"])
    return text


def _parsed(path: Path, text: str) -> dict[str, Any]:
    import tomllib

    try:
        return tomllib.loads(text)
    except (tomllib.TOMLDecodeError, RecursionError) as error:
        example = '[model] and below it name = "gpt-5.5"'
        raise ConfigError([f"{path}: is not TOML: {error}. A setting is {example}"]) from None


def read_named_file(path: Path, limit: int) -> bytes:
    """Return a regular file that a person has named. Raises `OSError`, or `ValueError` if it is larger."""
    return _read_bytes(path, limit)[0]


def _read(path: Path) -> tuple[str, int]:
    """Return the text of a regular UTF-8 file, and its mode."""
    content, mode = _read_bytes(path, _MAX_BYTES)
    try:
        return content.decode(), mode
    except UnicodeDecodeError as error:
        raise ValueError(f"it is not UTF-8 (byte {error.start})") from None


def _read_bytes(path: Path, limit: int) -> tuple[bytes, int]:
    descriptor = os.open(path, os.O_RDONLY | O_BINARY | O_NONBLOCK | O_NOCTTY | O_CLOEXEC)
    try:
        mode = os.fstat(descriptor).st_mode
        if sys.platform == "win32":  # the permission bits mean nothing there; the user's directory keeps others out
            mode &= ~0o077
        if not stat.S_ISREG(mode):
            raise ValueError("it is not a regular file")
        with os.fdopen(descriptor, "rb", closefd=False) as file:
            content = file.read(limit + 1)
    finally:
        os.close(descriptor)
    if len(content) > limit:
        raise ValueError(f"it is larger than {limit} bytes")
    return content, mode


def write_new_file(path: str, text: str) -> None:
    """Write a file that only its owner can read. Raises `FileExistsError` if there is one already."""
    fd = os.open(path, os.O_WRONLY | os.O_CREAT | os.O_EXCL | O_CLOEXEC, 0o600)
    with os.fdopen(fd, "w", encoding="utf-8") as file:
        file.write(text)


def read_or_create_secret(path: Path, fresh: str) -> str:
    """Return the secret in a file that only its owner can read. A missing file is created with `fresh`."""
    path.parent.mkdir(parents=True, exist_ok=True, mode=0o700)
    try:
        write_new_file(str(path), f"{fresh}\n")
    except FileExistsError:
        return read_token_file(path).strip() or fresh
    return fresh


def replace_file(path: Path, text: str) -> None:
    """Write a file that only its owner can read, in place of the one that is there."""
    path.parent.mkdir(parents=True, exist_ok=True, mode=0o700)
    temporary = path.with_name(f"{path.name}.{os.getpid()}")
    write_new_file(str(temporary), text)
    os.replace(temporary, path)


def read_small_file(path: Path) -> str:
    """Return the text of one of the user's files; empty if there is none."""
    try:
        return _read(path)[0]
    except (OSError, ValueError):
        return ""
