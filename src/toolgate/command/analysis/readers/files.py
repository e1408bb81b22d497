"""Programs that copy, move, link, pack, split and convert files: what they overwrite, and what leaves the project."""

import posixpath
import re
from collections.abc import Sequence

from toolgate.command.analysis.options import has, next_word, operands, option_values, read_options
from toolgate.command.analysis.paths import Zone
from toolgate.command.analysis.program import REASONS, program
from toolgate.command.analysis.scope import Scope
from toolgate.command.analysis.wrapped_command import analyse_code_words
from toolgate.command.words import UNRESOLVED, Word

_REMOTE = re.compile(r"[\w.@-]+:")
_SPLIT_FILE = re.compile(r"\$FILE\b|\$\{FILE\}")
_ZIP_TEST = re.compile(r"(?:-[a-zA-Z]*TT|--unzip-command)(?:=(.*))?", re.DOTALL)
_ENDING = re.compile(r"\.\w+\Z")
_MAX_MERGED = 50
"""Directories that are compared with those that they are copied over."""
_KEEPS = (
    *("-k", "-c", "-l", "-t", "-d", "-V"),
    *("--keep", "--stdout", "--to-stdout", "--list", "--test", "--decompress", "--uncompress"),
)


def copy(scope: Scope, words: Sequence[Word]) -> None:
    """Analyse `cp`, `mv` and `install`: a file at the target is lost, and so is a file that leaves the project."""
    given, target = _sources(words), target_directory(words)
    if target is None:
        if words[0].text == "install" and has(words, "-d", "--directory"):
            return
        if len(given) < 2:
            _from_one_word(scope, given)
            return
        given, target = given[:-1], given[-1]
    else:
        scope.note_path(target.text.rstrip("/") or "/")
    name = words[0].text
    keeps = name in ("cp", "mv") and has(words, "-n", "--no-clobber")
    keeps = keeps and not (name == "mv" and has(words, "-f", "--force"))
    if name == "mv":
        _moves(scope, given, target, keeps=keeps)
    recursive = name == "cp" and has(words, "-r", "-R", "-a", "--recursive", "--archive")
    whole = has(words, "-T", "--no-target-directory")
    for source in given:
        _replaces(scope, source, target, recursive=recursive, contents=whole, keeps=keeps)


def _from_one_word(scope: Scope, given: Sequence[Word]) -> None:
    """`xargs mv` and `cp $files`: a word that is not known may stand for several, the last of which is the target."""
    for word in given:
        if not word.known and not word.quoted and UNRESOLVED in word.text:
            _may_overwrite(scope, word)


def rsync(scope: Scope, words: Sequence[Word]) -> None:
    """`rsync`: what exists at the target is lost; with a host the target is another machine's."""
    if any(_REMOTE.match(word.text) for word in operands(words)):
        scope.findings.add_danger(f"'rsync': {REASONS['remote']}")
    given = operands(words, program("rsync").values)
    if has(words, "-n", "--dry-run", "--ignore-existing", "--list-only"):
        return
    for source in given[:-1]:
        _replaces(scope, source, given[-1], recursive=True, contents=source.text.endswith("/"))


def target_directory(words: Sequence[Word]) -> Word | None:
    """What `-t` names, with a `/` at its end: the command fails if it is not a directory."""
    for option, word in read_options(words, program("cp").values, program("cp").flags):
        if option in ("-t", "--target-directory") and word.text:
            return word._replace(text=word.text.rstrip("/") + "/")
    return None


def _sources(words: Sequence[Word]) -> list[Word]:
    """The operands of `cp` and similar programs; without `-t`, the last one is the target."""
    given = read_options(words, program("cp").values, program("cp").flags)
    return [word for option, word in given if not option]


def _moves(scope: Scope, sources: Sequence[Word], target: Word, *, keeps: bool) -> None:
    location = scope.locate(target.text)
    if location.zone is not Zone.inside:
        for source in sources:
            if may_be_inside(scope, source):
                scope.findings.add_danger(f"it moves '{source.raw or source.text}' out of the project")
        return
    if keeps or not scope.repeated or not target.known or all(source.known for source in sources):
        return
    into = all(scope.surroundings.kind(path) == "directory" or path in scope.created for path in location.paths)
    if into and not all("$" in source.raw for source in sources if not source.known):
        scope.findings.add_danger(f"it may move several files of the same name into '{target.text}'", sure=False)
    elif not into and not target.text.endswith("/"):
        scope.findings.add_danger(f"it may move several files to '{target.text}', where only the last one remains")


def may_be_inside(scope: Scope, source: Word) -> bool:
    """Whether something of the project, existing now, may be what the word names."""
    location = scope.locate(source.text)
    if location.zone is not Zone.inside:
        return location.zone is Zone.unknown
    matches = scope.matches(source)
    return matches is None or any(scope.surroundings.kind(path) != "absent" for path in matches)


def _replaces(
    scope: Scope, source: Word, target: Word, *, recursive: bool = False, contents: bool = False, keeps: bool = False
) -> None:
    """Note what is written at the target. With `contents`, a directory becomes the target and is not put into it."""
    location = scope.locate(target.text)
    if location.zone is not Zone.inside:
        if location.zone is Zone.unknown and not keeps:
            _may_overwrite(scope, target)
        return
    paths = scope.matches(target)
    if paths is None and not keeps:
        _may_overwrite(scope, target)
    for path in paths or ():
        scope.written.add(path)
        if scope.surroundings.kind(path) == "directory" or path in scope.created:
            if contents and recursive and not keeps:
                _merge(scope, source, path)
            else:
                _into(scope, source, path, recursive=recursive, keeps=keeps)
        elif scope.surroundings.kind(path) == "file" and not keeps:
            scope.findings.add_danger(f"it overwrites '{path}', which exists")


def _may_overwrite(scope: Scope, target: Word) -> None:
    reason = f"it may overwrite '{target.raw or target.text}', which is only known when it runs"
    scope.findings.add_danger(reason, sure=False)


def _into(scope: Scope, source: Word, directory: str, *, recursive: bool, keeps: bool) -> None:
    """Note what is put into a directory. If the name comes from a variable, nobody is asked for that reason alone."""
    for name in _names_of(scope, source):
        final = posixpath.normpath(f"{directory}/{name}")
        scope.written.add(final)
        if keeps:
            continue
        if scope.surroundings.kind(final) == "file":
            scope.findings.add_danger(f"it overwrites '{final}', which exists")
        elif recursive and scope.surroundings.kind(final) == "directory":
            inner = source.text if posixpath.basename(source.text.rstrip("/")) == name else f"{source.text}/{name}"
            _merge(scope, source._replace(text=inner), final)


def _merge(scope: Scope, source: Word, directory: str) -> None:
    """Note that a directory is copied into another one that exists: files of the same name are lost."""
    waiting = [(path, directory) for path in scope.matches(source) or ()]
    if not waiting and scope.surroundings.entries(directory):
        scope.findings.add_danger(f"it may overwrite files in '{directory}'", sure=False)
    for _ in range(_MAX_MERGED):
        if not waiting:
            return
        above, below = waiting.pop()
        names = scope.surroundings.entries(above)
        if names is None and scope.surroundings.kind(above) == "directory":
            break
        for name in () if above == below else names or ():
            final = posixpath.normpath(f"{below}/{name}")
            scope.written.add(final)
            if scope.surroundings.kind(final) == "file":
                scope.findings.add_danger(f"it overwrites '{final}', which exists")
            elif scope.surroundings.kind(final) == "directory":
                waiting.append((posixpath.normpath(f"{above}/{name}"), final))
    scope.findings.add_danger(f"it may overwrite files in '{directory}'", sure=False)


def _names_of(scope: Scope, source: Word) -> list[str]:
    """The names that a source has in its new directory."""
    base = posixpath.basename(source.text.rstrip("/"))
    if source.text.endswith("/.") or base in ("", ".", ".."):
        inside = scope.locate(source.text)
        return [name for path in inside.paths for name in scope.surroundings.entries(path) or ()]
    if source.known:
        return [base]
    return [posixpath.basename(path) for path in scope.matches(source) or ()]


def link(scope: Scope, words: Sequence[Word]) -> None:
    """`ln`: what a symbolic link names is resolved from where the link is."""
    if has(words, "-f", "--force"):
        copy(scope, words)
    given = [word.text for word in _sources(words)]
    target = target_directory(words)
    if target is not None:
        given.append(target.text.rstrip("/") or "/")
    for text in given[-1:]:
        scope.written.update(scope.note_path(text).paths)
    base = given[-1] if len(given) > 1 else "."
    symbolic = has(words, "-s", "--symbolic")
    for path in scope.locate(base).paths:
        into = path == "." or scope.surroundings.kind(path) == "directory"
        directory = path if into else posixpath.dirname(path) or "."
        for text in given[:-1]:
            beside = symbolic and not text.startswith(("/", "~"))
            rooted = posixpath.normpath(posixpath.join(scope.surroundings.root, directory))
            scope.note_path(posixpath.join(rooted, text) if beside else text)


def tar(scope: Scope, words: Sequence[Word]) -> None:
    """The archive that `tar -c` makes; in `tar cIf gzip file`, letters without a dash have their values in turn."""
    first, valued = next_word(words, 0).text, program("tar").values
    letters = first if first.isalpha() else ""
    in_turn = dict(zip((letter for letter in letters if f"-{letter}" in valued), words[2:], strict=False))
    for letter in ("F", "I"):
        analyse_code_words(scope, words[0].text, [in_turn[letter]] if letter in in_turn else [])
    archives = [*option_values(words, ("-f", "--file"), valued), in_turn.get("f", Word(""))]
    if "c" in letters or has(words, "-c", "--create"):
        for archive in archives:
            if archive.text not in ("", "-"):
                _write_result(scope, archive)


def _write_result(scope: Scope, target: Word) -> None:
    """Note a file that is made. If its name is not known, its ending has to be: that is no other kind of file."""
    if scope.locate(target.text).zone is not Zone.unknown or not _ENDING.search(target.text):
        scope.note_write(target)


def zip_archive(scope: Scope, words: Sequence[Word]) -> None:
    """`zip -T -TT code`: the command that tests the archive."""
    for at, word in enumerate(words[1:], 1):
        if match := _ZIP_TEST.fullmatch(word.text):
            scope.analyse_code(next_word(words, at).text if match.group(1) is None else match.group(1))


def split(scope: Scope, words: Sequence[Word]) -> None:
    """`split --filter=code`, and the first file that it writes."""
    given = operands(words, program("split").values)
    prefix = given[1] if len(given) > 1 else Word("x")
    first = prefix._replace(text=f"{prefix.text}aa")
    filters = list(option_values(words, ("--filter",)))
    for code in filters:
        scope.analyse_code(_SPLIT_FILE.sub(first.text, code.text))
    if not filters or not first.known:
        scope.note_write(first)


def csplit(scope: Scope, words: Sequence[Word]) -> None:
    """`csplit file /pattern/ …`, and the first file that it writes."""
    for word in operands(words, program("csplit").values)[:1]:
        scope.note_path(word.text, reads=True)
    for prefix in list(option_values(words, ("-f", "--prefix"), program("csplit").values)) or [Word("xx")]:
        scope.note_write(prefix._replace(text=f"{prefix.text}00"))


def compress(scope: Scope, words: Sequence[Word]) -> None:
    """`gzip` and similar programs: the file is replaced by a compressed one."""
    if has(words, *_KEEPS):
        return
    for word in operands(words, program("gzip").values):
        if may_be_inside(scope, word):
            scope.findings.add_danger(f"it replaces '{word.raw or word.text}' by a compressed file")


def convert(scope: Scope, words: Sequence[Word]) -> None:
    """`convert in out` and similar programs: the last operand is written, and may be the first one as well."""
    if words[0].text == "ffmpeg" and not any(word.text == "-y" for word in words):
        return
    given = [word for word in words[1:] if not word.text.startswith("-")]
    if len(given) < 2:
        _from_one_word(scope, given)
        return
    target = given[-1]
    if any(word.text == target.text for word in given[:-1]):
        scope.findings.add_danger(f"'{words[0].text}': it replaces '{target.raw or target.text}'")
    else:
        _write_result(scope, target)
