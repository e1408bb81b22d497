"""Programs that send data to other machines, depending on their operands."""

import posixpath
import re
from collections.abc import Sequence

from toolgate.command.analysis.options import has, operands
from toolgate.command.analysis.program import REASONS
from toolgate.command.analysis.scope import Scope
from toolgate.command.words import Word

_LOCAL = re.compile(r"(?:https?://)?(?:localhost|127\.0\.0\.1|\[::1\]|0\.0\.0\.0)(?:[:/]|$)|:\d|:/")
_SENDING_METHODS = frozenset({"POST", "PUT", "PATCH", "DELETE"})
_BODY_ITEM = re.compile(r"[^:=@/?\s]+(?::?=(?!=)|@)")
"""`name=value`, `name:=json` and `name@file`; `name==value` and `Name:value` are not part of a request's body."""
_FORGE_READS = frozenset("list view status diff checks checkout watch search download clone".split())


def curl(scope: Scope, words: Sequence[Word]) -> None:
    """`curl -O address`: the file is called as at the end of the address."""
    if has(words, "-O", "--remote-name", "--remote-name-all"):
        for word in operands(words):
            if "/" in word.text:
                scope.write(word._replace(text=posixpath.basename(word.text.partition("?")[0]) or "index.html"))


def http(scope: Scope, words: Sequence[Word]) -> None:
    """`http POST address name=value`; a request with a body is a POST even without the word."""
    given = [word.text for word in operands(words)]
    method = given[0].upper() if given and given[0].isalpha() else ""
    address, items = given[bool(method) :][:1], given[bool(method) :][1:]
    piped = scope.stdin is not None and not has(words, "--ignore-stdin")
    sends = method in _SENDING_METHODS or piped or any(map(_BODY_ITEM.match, items))
    if sends and not (address and _LOCAL.match(address[0])):
        scope.found.danger(f"'{words[0].text}': it sends data to another machine")


def forge(scope: Scope, words: Sequence[Word]) -> None:
    """`gh` and `glab`: whatever does not only read is published."""
    given = [word.text for word in operands(words)]
    if given[:1] == ["api"]:
        publishes = has(words, "-X", "-f", "-F", "--method", "--field", "--raw-field", "--input")
    else:
        publishes = len(given) > 1 and given[1] not in _FORGE_READS and given[0] != "search"
    if publishes:
        scope.found.danger(f"'gh': {REASONS['publishes']}")
