"""Commands that write, replace or walk over files."""

import posixpath
import re
from collections.abc import Sequence

from toolgate.shell.analysis.known import names
from toolgate.shell.analysis.paths import Where
from toolgate.shell.analysis.scope import Scope
from toolgate.shell.words import UNRESOLVED, Word

_FIND_RUNS = frozenset({"-exec", "-execdir", "-ok", "-okdir"})
_FIND_WRITES = frozenset({"-fprint", "-fprint0", "-fprintf", "-fls"})
_FIND_ALONE = names(
    """
    -print -print0 -delete -ls -prune -depth -o -a -or -and -not -follow -xdev -mount -empty -daystart -quit
    -true -false -readable -writable -executable -nouser -nogroup -noleaf -ignore_readdir_race -L -H -P
    """
)
_TARGET = re.compile(r"(?:--target-directory=|-[a-su-zA-Z]*t)(.+)", re.DOTALL)
_COPY_VALUED = names("-t --target-directory -S --suffix -m --mode -o --owner -g --group --backup")


def operands(words: Sequence[Word], valued: frozenset[str] = frozenset()) -> list[Word]:
    """The words that are neither options nor their values."""
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


def has(words: Sequence[Word], letters: str, *names: str) -> bool:
    """Whether one of the options is given, also as a letter in a cluster."""
    for word in words[1:]:
        text = word.text
        if text == "--":
            return False
        if text in names or any(text.startswith(f"{name}=") for name in names):
            return True
        if text.startswith("-") and not text.startswith("--") and any(letter in text[1:] for letter in letters):
            return True
    return False


def copy(scope: Scope, words: Sequence[Word]) -> None:
    """`cp`, `mv`, `install`: a file that exists at the target is lost."""
    scope.found.changes = True
    if has(words, "n", "--no-clobber"):
        return
    given = operands(words, _COPY_VALUED)
    target = _directory(words)
    if target is None:
        if len(given) < 2 or (words[0].text == "install" and has(words, "d", "--directory")):
            return
        given, target = given[:-1], given[-1]
    for source in given:
        _replaces(scope, source, target)


def _directory(words: Sequence[Word]) -> Word | None:
    """What `-t` names, in any of its spellings."""
    for at, word in enumerate(words):
        if word.text in ("-t", "--target-directory"):
            return words[at + 1] if at + 1 < len(words) else None
        if match := _TARGET.fullmatch(word.text):
            return word._replace(text=match.group(1))
    return None


def _replaces(scope: Scope, source: Word, target: Word) -> None:
    place = scope.place(target.text)
    if place.where is not Where.inside:
        if place.where is Where.unknown:
            reason = f"it may overwrite '{target.raw or target.text}', which is only known when it runs"
            scope.found.danger(reason, sure=False)
        return
    for path in place.paths:
        into = scope.around.kind(path) == "directory" or path in scope.made
        base = posixpath.basename(source.text.rstrip("/"))
        if into and (not source.known or base in ("", ".", "..")):
            continue
        final = posixpath.normpath(f"{path}/{base}") if into else path
        if scope.around.kind(final) == "file":
            scope.found.danger(f"it overwrites '{final}', which exists")


def link(scope: Scope, words: Sequence[Word]) -> None:
    """`ln`: what a symbolic link names is resolved from where the link is."""
    scope.found.changes = True
    if has(words, "f", "--force"):
        copy(scope, words)
    given = [word.text for word in operands(words, _COPY_VALUED)]
    for text in given[-1:]:
        scope.path(text)
    base = given[-1] if len(given) > 1 else "."
    symbolic = has(words, "s", "--symbolic")
    for path in scope.place(base).paths if scope.place(base).paths else ():
        into = path == "." or scope.around.kind(path) == "directory"
        directory = path if into else posixpath.dirname(path) or "."
        for text in given[:-1]:
            beside = symbolic and not text.startswith(("/", "~"))
            scope.path(posixpath.join(_rooted(scope, directory), text) if beside else text)


def _rooted(scope: Scope, relative: str) -> str:
    return posixpath.normpath(posixpath.join(scope.around.root, relative))


def tee(scope: Scope, words: Sequence[Word]) -> None:
    """`tee` and `sponge` write their operands."""
    append = has(words, "a", "--append")
    for word in operands(words):
        scope.write(word, append=append)


def dd(scope: Scope, words: Sequence[Word]) -> None:
    """`dd of=file`."""
    for word in words[1:]:
        name, _, value = word.text.partition("=")
        if name == "of":
            scope.write(word._replace(text=value))


def sort(scope: Scope, words: Sequence[Word]) -> None:
    """`sort -o file` and programs that it may run."""
    for at, word in enumerate(words[1:], 1):
        name, equals, value = word.text.partition("=")
        if word.text == "-o" or name == "--output":
            scope.write(word._replace(text=value) if equals else words[at + 1] if at + 1 < len(words) else Word(""))
        elif word.text.startswith("-o") and len(word.text) > 2:
            scope.write(word._replace(text=word.text[2:]))
        elif name == "--compress-program":
            scope.run([word._replace(text=value) if equals else Word(UNRESOLVED, False)])


def mkdir(scope: Scope, words: Sequence[Word]) -> None:
    """Directories that exist from here on."""
    scope.found.changes = True
    for word in operands(words, frozenset({"-m", "--mode"})):
        place = scope.place(word.text)
        if word.known:
            scope.made.update(place.paths)


def change_directory(scope: Scope, words: Sequence[Word]) -> None:
    """`cd` and `pushd`: where the rest of the line runs."""
    given = operands(words)
    if given and given[0].text == "-":
        scope.enter((None,), certain=True)
        return
    text = given[0].text if given else "~"
    place = scope.path(text)
    if place.where is Where.inside:
        certain = all(scope.around.kind(path) == "directory" or path in scope.made for path in place.paths)
        scope.enter(place.paths, certain)
    elif place.where is Where.scratch:
        scope.enter((text,), certain=False)
    elif place.where is Where.outside and text.startswith("/"):
        scope.enter((posixpath.normpath(text),), certain=False)
    else:
        scope.enter((None,), certain=True)


def pop_directory(scope: Scope, _: Sequence[Word]) -> None:
    """`popd`: somewhere earlier."""
    scope.enter((None, scope.around.cwd), certain=True)


def find(scope: Scope, words: Sequence[Word]) -> None:
    """`find`: starting points, and actions that run, remove or write."""
    at = 1
    while at < len(words) and not words[at].text.startswith(("-", "(", "!", "\\")):
        scope.path(words[at].text)
        if at > 1 and not words[at].known and not words[at].quoted:
            scope.found.unclear("what 'find' does is only known when it runs")
        at += 1
    while at < len(words):
        text = words[at].text
        if text in _FIND_RUNS:
            end = next((i for i in range(at, len(words)) if words[i].text == ";" or _plus(words, i)), len(words))
            scope.run([_found(word) for word in words[at + 1 : end]])
            at = end
        elif text == "-delete":
            scope.found.commands[("rm", *(word.text for word in words[1:at] if not word.text.startswith("-")))] = None
            scope.found.danger("it removes files")
            scope.found.changes = True
        elif text in _FIND_WRITES and at + 1 < len(words):
            scope.write(words[at + 1])
        elif not words[at].known and text.startswith(UNRESOLVED) and not _is_value(words, at):
            scope.found.unclear("what 'find' does is only known when it runs")
        at += 1


def _is_value(words: Sequence[Word], at: int) -> bool:
    """Whether the word belongs to the test before it."""
    before = words[at - 1].text
    return before.startswith("-") and before not in _FIND_ALONE


def _plus(words: Sequence[Word], at: int) -> bool:
    return words[at].text == "+" and words[at - 1].text == "{}"


def _found(word: Word) -> Word:
    if "{}" not in word.text:
        return word
    return word._replace(text=word.text.replace("{}", UNRESOLVED), known=False)


def fd(scope: Scope, words: Sequence[Word]) -> None:
    """`fd -x command`."""
    for at, word in enumerate(words):
        if word.text in ("-x", "--exec", "-X", "--exec-batch"):
            scope.run([*(_found(inner) for inner in words[at + 1 :]), Word(UNRESOLVED, False)])
            return


def ripgrep(scope: Scope, words: Sequence[Word]) -> None:
    """`rg --pre command`."""
    for at, word in enumerate(words):
        name, equals, value = word.text.partition("=")
        if name in ("--pre", "--hostname-bin"):
            scope.run([word._replace(text=value) if equals else words[at + 1] if at + 1 < len(words) else Word("")])


def tar(scope: Scope, words: Sequence[Word]) -> None:
    """`tar`: options that run a program or remove what was packed."""
    for at, word in enumerate(words):
        name, equals, value = word.text.partition("=")
        following = words[at + 1] if at + 1 < len(words) else Word("")
        if name in (
            "--to-command",
            "--use-compress-program",
            "--rsh-command",
            "--info-script",
            "--new-volume-script",
        ) or word.text in (
            "-I",
            "-F",
        ):
            code = word._replace(text=value) if equals else following
            scope.code(code.text)
        elif name == "--checkpoint-action":
            scope.found.unclear("'tar --checkpoint-action' may run a program")
        elif name in ("--remove-files", "--recursive-unlink", "--unlink-first"):
            scope.found.danger("it removes files")
    if has(words, "x", "--extract", "--get") or (len(words) > 1 and "x" in words[1].text.split("/")[0][:6]):
        scope.found.changes = True


def split(scope: Scope, words: Sequence[Word]) -> None:
    """`split --filter=code`."""
    for word in words[1:]:
        if word.text.startswith("--filter="):
            scope.code(word.text.partition("=")[2])
