"""The words of a command as options, their values, and operands."""

from __future__ import annotations

import string
from collections.abc import Collection, Iterable, Iterator, Sequence
from typing import NamedTuple

from toolgate.command.words import Word


class Options(NamedTuple):
    """Options that are looked for together."""

    letters: str = ""
    """Letters, which may stand in a cluster."""
    names: frozenset[str] = frozenset()
    prefixes: tuple[str, ...] = ()

    def __bool__(self) -> bool:
        """Whether there are any."""
        return bool(self.letters or self.names or self.prefixes)

    @classmethod
    def read(cls, options: Iterable[str]) -> Options:
        """`-a` is a letter, `--all` a name, `--all*` what an option may begin with."""
        given = tuple(options)
        return cls(
            letters="".join(option[1] for option in given if len(option) == 2 and option != "--"),
            names=frozenset(option for option in given if not option.endswith("*")),
            prefixes=tuple(option[:-1] for option in given if option.endswith("*")),
        )

    def given(self, words: Sequence[Word], *, only_letters: bool = False) -> bool:
        """Whether one of them is among the options of `words`.

        `only_letters`: a cluster is letters and nothing else; without it, a value may be attached.
        """
        for word in words[1:]:
            text = word.text
            if not text.startswith("-"):
                continue
            if text == "--":
                return False
            if text in self.names or text.partition("=")[0] in self.names or text.startswith(self.prefixes or "\n"):
                return True
            cluster = not text.startswith("--") and (not only_letters or text[1:].isalpha())
            if cluster and any(letter in text for letter in self.letters):
                return True
        return False


NONE = Options()
_EVERY_LETTER = frozenset(f"-{letter}" for letter in string.ascii_letters)


def has(words: Sequence[Word], *options: str, only_letters: bool = False) -> bool:
    """Whether one of the options is given, also as a letter in a cluster; see `Options.given`."""
    return Options.read(options).given(words, only_letters=only_letters)


def operands(words: Sequence[Word], valued: Collection[str] = ()) -> list[Word]:
    """The words that are neither options nor values of the options `valued`."""
    found: list[Word] = []
    skip = ended = False
    for word in words[1:]:
        if skip:
            skip = False
        elif ended or not word.text.startswith("-") or word.text == "-":
            found.append(word)
        elif word.text == "--":
            ended = True
        else:
            skip = word.text in valued
    return found


def next_word(words: Sequence[Word], at: int) -> Word:
    """The word after a position, or an empty one."""
    return words[at + 1] if at + 1 < len(words) else Word("")


def option_values(words: Sequence[Word], options: Collection[str], valued: Collection[str] = ()) -> Iterator[Word]:
    """Everything that may be a value of the options: after `=`, attached to a letter, or the next word.

    Letters cluster only if it is known which of them have a value (`valued`).
    """
    for at, word in enumerate(words[1:], 1):
        name, equals, value = word.text.partition("=")
        if name in options:
            yield word._replace(text=value) if equals else next_word(words, at)
        elif name.startswith("-"):
            attached = attached_value(word.text, options, valued or _EVERY_LETTER)
            if attached is not None:
                yield word._replace(text=attached) if attached else next_word(words, at)


def read_options(
    words: Sequence[Word], valued: Collection[str], flags: Collection[str] = ()
) -> Iterator[tuple[str, Word]]:
    """Yield the options `valued` with their values, and the operands with an empty name, as the program reads them.

    In a cluster, only letters of the options `flags` may stand before one that has a value.
    """
    rest = iter(words[1:])
    for word in rest:
        name, equals, value = word.text.partition("=")
        if not name.startswith("-") or name == "-":
            yield "", word
        elif name == "--":
            yield from (("", operand) for operand in rest)
        elif name.startswith("--") and name in valued:
            yield name, word._replace(text=value) if equals else next(rest, Word(""))
        elif not name.startswith("--"):
            at = next((at for at, letter in enumerate(word.text) if at and f"-{letter}" not in flags), 0)
            letter, attached = word.text[at], word.text[at + 1 :]
            if f"-{letter}" in valued:
                yield f"-{letter}", word._replace(text=attached) if attached else next(rest, Word(""))


def attached_value(text: str, options: Collection[str], valued: Collection[str]) -> str | None:
    """What stands after the letter of an option, also in a cluster: empty if it is the next word.

    None if no such letter is given, or if it belongs to the value of one of the options `valued`.
    """
    if text.startswith("-") and not text.startswith("--"):
        for at, letter in enumerate(text[1:], 1):
            if f"-{letter}" in options:
                return text[at + 1 :]
            if f"-{letter}" in valued:
                return None
    return None
