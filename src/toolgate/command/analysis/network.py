"""Programs that send data to other machines or change the network of this one, depending on their operands."""

import re
from collections.abc import Sequence

from toolgate.command.analysis.files import has, operands
from toolgate.command.analysis.scope import Scope
from toolgate.command.words import Word

_LOCAL = re.compile(r"(?:https?://)?(?:localhost|127\.0\.0\.1|\[::1\]|0\.0\.0\.0)(?:[:/]|$)|:\d|:/")
_SENDING_METHODS = frozenset({"POST", "PUT", "PATCH", "DELETE"})
_BODY_ITEM = re.compile(r"[^:=@/?\s]+(?::?=(?!=)|@)")
"""`name=value`, `name:=json` and `name@file`; `name==value` and `Name:value` are not part of a request's body."""
_KEYS_PUBLISHED = ("--send-keys", "--send-key")
_KEYS_REMOVED = ("--delete-keys", "--delete-key", "--delete-secret-keys", "--delete-secret-key")
_CHANGES_NETWORK = "it changes the system outside the root"


def httpie(scope: Scope, words: Sequence[Word]) -> None:
    """`http POST address name=value`; a request with a body is a POST even without the word."""
    given = [word.text for word in operands(words)]
    method = given[0].upper() if given and given[0].isalpha() else ""
    address, items = given[bool(method) :][:1], given[bool(method) :][1:]
    piped = scope.stdin is not None and not has(words, "", "--ignore-stdin")
    sends = method in _SENDING_METHODS or piped or any(map(_BODY_ITEM.match, items))
    if sends and not (address and _LOCAL.match(address[0])):
        scope.found.danger(f"'{words[0].text}': it sends data to another machine")


def gpg(scope: Scope, words: Sequence[Word]) -> None:
    """`gpg`: keys that are published or removed."""
    if has(words, "", *_KEYS_PUBLISHED):
        scope.found.danger(f"'{words[0].text}': it publishes")
    if has(words, "", *_KEYS_REMOVED, "--delete-secret-and-public-key"):
        scope.found.danger(f"'{words[0].text}': it removes keys")


def ssh_keygen(scope: Scope, words: Sequence[Word]) -> None:
    """`ssh-keygen` without `-f` writes into the home directory; `-l` and `-F` show keys, `-Y` signs."""
    if not has(words, "flFY"):
        scope.found.danger(f"'{words[0].text}': it changes keys outside the root")


def interface(scope: Scope, words: Sequence[Word]) -> None:
    """`ifconfig` and `iwconfig`: one operand shows an interface, more of them change it."""
    if len(operands(words)) > 1:
        scope.found.danger(f"'{words[0].text}': {_CHANGES_NETWORK}")


def hostname(scope: Scope, words: Sequence[Word]) -> None:
    """`hostname` shows the name, or sets it to its operand."""
    if operands(words) or has(words, "Fb", "--file", "--boot"):
        scope.found.danger(f"'{words[0].text}': {_CHANGES_NETWORK}")
