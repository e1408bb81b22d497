"""Programs with an option that names a file to write: a table, and the reader of it."""

from collections.abc import Iterator, Sequence
from typing import NamedTuple

from toolgate.command.analysis.known import names
from toolgate.command.analysis.paths import Where
from toolgate.command.analysis.scope import Scope
from toolgate.command.words import Word


class Output(NamedTuple):
    """The options of a program that name a file to write."""

    options: frozenset[str]
    valued: str = ""
    """Letters of other options with a value, which ends a cluster of letters."""
    builds: bool = False
    """A compiler: what it built before may be built again, and letters do not cluster."""


def _output(options: str, valued: str = "", *, builds: bool = False) -> Output:
    return Output(names(options), valued, builds)


OUTPUTS: dict[str, Output] = {
    "curl": _output(
        "-o --output -D --dump-header -c --cookie-jar --trace --trace-ascii --stderr --etag-save --libcurl",
        "AbCdeEFHKmPQrTtuUwxXyYz",
    ),
    "wget": _output("-O --output-document -o --output-file", "aABDeIilPQRStTUwX"),
    "aria2c": _output("-o --out -l --log", "dijkstx"),
    "shuf": _output("-o --output", "inz"),
    "iconv": _output("-o --output", "ft"),
    "tree": _output("-o", "LPIHT"),
    "jc": _output("-o"),
    "pandoc": _output("-o --output", "ftrwVMHBA"),
    "dot": _output("-o", "TKGNElns"),
    "gpg": _output("-o --output", "ru"),
    "age": _output("-o --output", "rRi"),
    "patch": _output("-o --output -r --reject-file", "pidDBFgVYz"),
    "strace": _output("-o --output", "aEeIOPpsSuXb"),
    "ltrace": _output("-o --output", "aAeDlnpsuwxX"),
    "tcpdump": _output("-w", "BcCDEFGiIjmMrsTVyzZQ"),
    "pg_dump": _output("-f --file", "aFhjnNpStTUwWZE"),
    "mysqldump": _output("-r --result-file", "hPuSBT"),
    "xmllint": _output("-o --output"),
    "xsltproc": _output("-o --output"),
    "terser": _output("-o --output", "cm"),
    "rollup": _output("-o --file", "cif"),
    "esbuild": _output("--outfile"),
    "tsc": _output("--outFile --outfile"),
    "flex": _output("-o --outfile", "P"),
    "bison": _output("-o --output", "bp"),
    "less": _output("-o -O --log-file --LOG-FILE", "bDhjkpPtTxyz"),
    "psql": _output("-o --output -L --log-file", "cdfhpUvFPRT"),
    "gs": _output("-o -sOutputFile", "dsI"),
    **dict.fromkeys(
        "cc c++ gcc g++ clang clang++ tcc ld gold lld as nasm yasm rustc ghc gfortran dmd ldc2 nim zig swiftc".split(),
        _output("-o", builds=True),
    ),
}


def outputs(scope: Scope, words: Sequence[Word]) -> None:
    """Note the files that options of the program name."""
    shape = OUTPUTS[words[0].text]
    for target in _targets(words, shape):
        if target.text not in ("", "-") and not (shape.builds and _is_binary(scope, target)):
            scope.write(target)


_COMMON = _output("-o --output --out --outfile --output-file")


def outputs_of_unknown(scope: Scope, words: Sequence[Word]) -> None:
    """The same for a program that is not known, by the common names of such options; only what exists matters."""
    for at, word in enumerate(words[1:], 1):
        name, equals, value = word.text.partition("=")
        following = words[at + 1] if at + 1 < len(words) else Word("")
        target = word._replace(text=value) if equals else following
        if name in _COMMON.options and any(
            scope.around.kind(path) == "file" for path in scope.place(target.text).paths
        ):
            scope.write(target)


def _targets(words: Sequence[Word], shape: Output) -> Iterator[Word]:
    for at, word in enumerate(words[1:], 1):
        following = words[at + 1] if at + 1 < len(words) else Word("")
        name, equals, value = word.text.partition("=")
        if word.text.startswith("--"):
            if name in shape.options:
                yield word._replace(text=value) if equals else following
        elif equals and name in shape.options:
            yield word._replace(text=value)
        elif word.text.startswith("-"):
            attached = _attached(word.text, shape)
            if attached is not None:
                yield word._replace(text=attached) if attached else following


def _attached(text: str, shape: Output) -> str | None:
    """What stands behind the letter of an option, empty if that is the next word; None if there is no such letter."""
    for at, letter in enumerate(text[1:], 1):
        if f"-{letter}" in shape.options:
            return text[at + 1 :]
        if shape.builds or letter in shape.valued:
            return None
    return None


def _is_binary(scope: Scope, target: Word) -> bool:
    """Whether there is nothing at the target, or no text."""
    paths = scope.matches(target)
    return paths is not None and not any(scope.around.content(path) for path in paths)


def converted(scope: Scope, words: Sequence[Word]) -> None:
    """`convert in out` and its kin: the last operand is written, and may be the first one as well."""
    if words[0].text == "ffmpeg" and not any(word.text == "-y" for word in words):
        return
    scope.found.changes = True
    given = [word for word in words[1:] if not word.text.startswith("-")]
    if len(given) < 2:
        return
    target = given[-1]
    if any(word.text == target.text for word in given[:-1]):
        scope.found.danger(f"'{words[0].text}': it replaces '{target.raw or target.text}'")
    elif scope.place(target.text).where is not Where.unknown:
        scope.write(target)


def converted_in_place(scope: Scope, words: Sequence[Word]) -> None:
    """`mogrify`: every operand is replaced, unless the results have another format or directory."""
    if not any(word.text in ("-path", "-format") for word in words):
        scope.found.danger(f"'{words[0].text}': it replaces files")
