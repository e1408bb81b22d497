"""Programs that pack, split and convert files: the files that they replace, and the code that they run."""

import re
from collections.abc import Sequence

from toolgate.command.analysis.options import has, operands, option_values
from toolgate.command.analysis.paths import Where
from toolgate.command.analysis.program import program
from toolgate.command.analysis.readers.copying import may_be_inside
from toolgate.command.analysis.scope import Scope
from toolgate.command.words import Word

_SPLIT_FILE = re.compile(r"\$FILE\b|\$\{FILE\}")
_ZIP_TEST = re.compile(r"(?:-[a-zA-Z]*TT|--unzip-command)(?:=(.*))?", re.DOTALL)
_KEEPS = (
    *("-k", "-c", "-l", "-t", "-d", "-V"),
    *("--keep", "--stdout", "--to-stdout", "--list", "--test", "--decompress", "--uncompress"),
)


def tar(scope: Scope, words: Sequence[Word]) -> None:
    """The archive that `tar -c` makes."""
    archive = _archive(words)
    if archive is not None and scope.place(archive.text).where is not Where.unknown:
        scope.write(archive)


def _archive(words: Sequence[Word]) -> Word | None:
    """The archive that `tar -c` makes; None if it makes none, or writes it to standard output."""
    letters = words[1].text.removeprefix("-") if len(words) > 1 else ""
    creates = has(words, "c", "--create") or (letters.isalpha() and "c" in letters)
    for at, word in enumerate(words[:-1] if creates else (), 0):
        name, equals, value = word.text.partition("=")
        option = word.text.startswith("-") and not word.text.startswith("--") and word.text.endswith("f")
        if option or word.text == "--file" or (at == 1 and letters.isalpha() and letters.endswith("f")):
            return words[at + 1] if words[at + 1].text != "-" else None
        if name == "--file" and equals:
            return word._replace(text=value)
    return None


def zip_archive(scope: Scope, words: Sequence[Word]) -> None:
    """`zip -T -TT code`: the command that tests the archive."""
    for at, word in enumerate(words[1:], 1):
        if match := _ZIP_TEST.fullmatch(word.text):
            given = match.group(1)
            scope.code(words[at + 1].text if given is None and at + 1 < len(words) else given or "")


def split(scope: Scope, words: Sequence[Word]) -> None:
    """`split --filter=code`, and the first file that it writes."""
    given = operands(words, program("split").values)
    prefix = given[1] if len(given) > 1 else Word("x")
    first = prefix._replace(text=f"{prefix.text}aa")
    filters = [word.text.partition("=")[2] for word in words[1:] if word.text.startswith("--filter=")]
    for code in filters:
        scope.code(_SPLIT_FILE.sub(first.text, code))
    if not filters or not first.known:
        scope.write(first)


def csplit(scope: Scope, words: Sequence[Word]) -> None:
    """`csplit file /pattern/ …`, and the first file that it writes."""
    prefix = next(option_values(words, ("-f", "--prefix")), Word("xx"))
    for word in operands(words, program("csplit").values)[:1]:
        scope.path(word.text, reads=True)
    scope.write(prefix._replace(text=f"{prefix.text}00"))


def compress(scope: Scope, words: Sequence[Word]) -> None:
    """`gzip` and similar programs: the file is replaced by a compressed one."""
    if has(words, *_KEEPS):
        return
    for word in operands(words, program("gzip").values):
        if may_be_inside(scope, word):
            scope.found.danger(f"it replaces '{word.raw or word.text}' by a compressed file")


def convert(scope: Scope, words: Sequence[Word]) -> None:
    """`convert in out` and similar programs: the last operand is written, and may be the first one as well."""
    if words[0].text == "ffmpeg" and not any(word.text == "-y" for word in words):
        return
    given = [word for word in words[1:] if not word.text.startswith("-")]
    if len(given) < 2:
        return
    target = given[-1]
    if any(word.text == target.text for word in given[:-1]):
        scope.found.danger(f"'{words[0].text}': it replaces '{target.raw or target.text}'")
    elif scope.place(target.text).where is not Where.unknown:
        scope.write(target)
