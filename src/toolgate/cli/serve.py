"""Serve the gateway: the web page and its socket, on this machine only by default."""

import argparse
import os
import secrets
import sys
from pathlib import Path
from typing import TYPE_CHECKING

from pydantic import SecretStr

from toolgate.cli.parser import add_model, add_root, add_tools, own_tools
from toolgate.language.translate import translate

if TYPE_CHECKING:
    from toolgate.settings import Settings


def configure(parser: argparse.ArgumentParser) -> None:
    """Add the command's arguments; everything else is in the settings."""
    add_root(parser)
    parser.add_argument(
        "--host", help=translate("address to listen on (default: TOOLGATE_GATEWAY_HOST, else 127.0.0.1)")
    )
    parser.add_argument("--port", type=int, help=translate("port to listen on; 0 takes a free one (default: 8765)"))
    parser.add_argument("--coding", action="store_true", help=translate("allow sessions in coding mode"))
    add_model(parser)
    add_tools(parser)
    parser.add_argument("--tls-cert", type=Path, metavar="FILE", help=translate("certificate chain to serve with, PEM"))
    parser.add_argument("--tls-key", type=Path, metavar="FILE", help=translate("the certificate's private key, PEM"))
    parser.add_argument(
        "--insecure-http",
        action="store_true",
        help=translate("serve an address that other machines can reach without TLS"),
    )
    parser.add_argument("--no-open", action="store_true", help=translate("do not open a browser"))


def run(args: argparse.Namespace) -> int:
    """Serve until a signal arrives."""
    from toolgate.gateway.server import serve

    tools, browser = own_tools(args), not args.no_open and _has_desktop()
    return serve(with_kept_token(_settings(args)), say=_say, browser=browser, tools=tools)


def with_kept_token(settings: "Settings") -> "Settings":
    """Return settings with a token that outlives this process, so that people stay signed in after a restart.

    Nothing changes if there is a token, if other machines can reach the gateway, or if tools could read the file.
    """
    from toolgate.gateway.addresses import is_loopback
    from toolgate.userfiles import TOKEN_FILE, read_or_create_secret, users_data

    gateway, path = settings.gateway, users_data(os.environ, TOKEN_FILE)
    if gateway.token_file is not None or gateway.tokens_by_user() or not is_loopback(gateway.host) or path is None:
        return settings
    if path.resolve().is_relative_to(settings.workspace.root.resolve()):
        return settings
    try:
        token = read_or_create_secret(path, secrets.token_urlsafe(32))
    except OSError:  # then everybody signs in again after a restart
        return settings
    return settings.model_copy(update={"gateway": gateway.model_copy(update={"token": SecretStr(token)})})


def _has_desktop() -> bool:
    """Whether a browser would open in a window, not in the terminal."""
    shown = sys.platform == "darwin" or any(os.environ.get(name) for name in ("DISPLAY", "WAYLAND_DISPLAY"))
    return shown and sys.stdout.isatty()


def _settings(args: argparse.Namespace) -> "Settings":
    from toolgate.compose import settings_with_model
    from toolgate.settings import Settings

    settings = Settings()
    said = ("host", "port", "tls_cert", "tls_key")
    gateway = {name: value for name in said if (value := getattr(args, name)) is not None}
    if args.insecure_http:
        gateway["insecure_http"] = True
    if gateway:
        changed = type(settings.gateway).model_validate({**settings.gateway.model_dump(), **gateway})
        settings = settings.model_copy(update={"gateway": changed})
    if args.coding:
        session = settings.session.model_copy(update={"coding_enabled": True})
        settings = settings.model_copy(update={"session": session})
    if args.root is not None:
        workspace = settings.workspace.model_copy(update={"root": args.root})
        settings = settings.model_copy(update={"workspace": workspace})
    if args.model is None and settings.distributed.role == "gateway":
        return settings  # workers use the model and have its key
    return settings_with_model(settings, args.model)


def _say(text: str) -> None:
    sys.stdout.write(f"{text}\n")
    sys.stdout.flush()
