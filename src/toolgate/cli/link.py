"""Print a fresh address of the gateway that runs on this machine, to sign in with another browser.

The address works once, within an hour.
"""

import argparse
import http.client
import json
import os
import sys
from typing import TYPE_CHECKING
from urllib.parse import urlsplit

from toolgate.cli.errors import UsageError
from toolgate.language.translate import translate

if TYPE_CHECKING:
    from toolgate.settings import Settings

_SECONDS = 10.0


def configure(parser: argparse.ArgumentParser) -> None:
    """Add the command's arguments."""
    parser.add_argument(
        "--port", type=int, help=translate("the gateway's port (default: that of the one that started last)")
    )
    parser.add_argument("--user", help=translate("whose address (default: the only user)"))


def run(args: argparse.Namespace) -> int:
    """Ask the gateway for a code, and print the address."""
    from toolgate.settings import Settings
    from toolgate.userfiles import ADDRESS_FILE, read_small_file, users_data

    settings = Settings()
    path = users_data(os.environ, ADDRESS_FILE)
    known = "" if path is None else read_small_file(path).strip()
    address = known
    if args.port is not None or not known:
        address = f"http://{settings.gateway.host}:{args.port or settings.gateway.port}/"
    sys.stdout.write(f"{address}#{_code(address, _token(settings, args.user))}\n")
    return 0


def _token(settings: "Settings", user: str | None) -> str:
    """Return the token of a user, from the settings or from the file that `toolgate serve` keeps."""
    from toolgate.gateway.tokens import tokens_of
    from toolgate.userfiles import TOKEN_FILE, read_small_file, users_data

    tokens = tokens_of(settings)
    path = users_data(os.environ, TOKEN_FILE)
    if not tokens and path is not None and (kept := read_small_file(path).strip()):
        tokens = {"": kept}
    if not tokens:
        raise UsageError(translate("there is no token: start the gateway with toolgate serve, which prints an address"))
    if user is None and len(tokens) > 1:
        raise UsageError(translate("whose address? Use --user with one of: {tokens}", tokens=", ".join(tokens)))
    found = tokens.get(user or next(iter(tokens)))
    if found is None:
        names = ", ".join(name or "(unnamed)" for name in tokens)
        raise UsageError(translate("there is no user {user}; the users are: {names}", user=repr(user), names=names))
    return found


def _code(address: str, token: str) -> str:
    place = urlsplit(address)
    kind = http.client.HTTPSConnection if place.scheme == "https" else http.client.HTTPConnection
    connection = kind(place.hostname or "", place.port, timeout=_SECONDS)
    try:
        connection.request("POST", "/auth/link", headers={"Authorization": f"Bearer {token}", "Content-Length": "0"})
        answer = connection.getresponse()
        if answer.status == http.client.OK:
            return str(json.loads(answer.read())["code"])
        reason = translate("it answered {status}", status=answer.status)
        if answer.status == http.client.UNAUTHORIZED:
            reason = translate("it does not know this token; was it started by somebody else, or with another token?")
    except (OSError, http.client.HTTPException, ValueError, KeyError) as error:
        name = type(error).__name__
        reason = translate("no gateway answers there ({name}); start one with toolgate serve", name=name)
    finally:
        connection.close()
    raise UsageError(f"{address}: {reason}")
