"""Commands that write, replace or walk over files."""

import posixpath
import re
from collections.abc import Sequence

from toolgate.command.analysis.known import READ_ONLY, names
from toolgate.command.analysis.paths import Where
from toolgate.command.analysis.scope import Scope
from toolgate.command.words import UNRESOLVED, Word

_FIND_RUNS = frozenset({"-exec", "-execdir", "-ok", "-okdir"})
_FIND_WRITES = frozenset({"-fprint", "-fprint0", "-fprintf", "-fls"})
_FIND_ALONE = names(
    """
    -print -print0 -delete -ls -prune -depth -o -a -or -and -not -follow -xdev -mount -empty -daystart -quit
    -true -false -readable -writable -executable -nouser -nogroup -noleaf -ignore_readdir_race -L -H -P
    """
)
_FD_MARK = re.compile(r"\{(?://?|/?\.)\}")
"""`{/}`, `{//}`, `{.}` and `{/.}`: parts of a path that was found."""
_SPLIT_FILE = re.compile(r"\$FILE\b|\$\{FILE\}")
_CSPLIT_VALUED = names("-f --prefix -b --suffix-format -n --digits")
_SPLIT_VALUED = names("-a --suffix-length -b --bytes -C --line-bytes -l --lines -n --number -t --separator")


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


def tee(scope: Scope, words: Sequence[Word]) -> None:
    """`tee` and `sponge` write their operands."""
    append = has(words, "a", "--append")
    for word in operands(words):
        if not word.raw.startswith(">("):
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
    elif place.where in (Where.outside, Where.shown) and text.startswith("/"):
        scope.enter((posixpath.normpath(text),), certain=False)
    else:
        scope.enter((None,), certain=True)


def pop_directory(scope: Scope, _: Sequence[Word]) -> None:
    """`popd`: somewhere earlier."""
    scope.enter((None, scope.around.cwd), certain=True)


def find(scope: Scope, words: Sequence[Word]) -> None:
    """`find`: starting points, and actions that run, remove or write."""
    at = 1
    reads = _only_reads(words)
    while at < len(words) and not words[at].text.startswith(("-", "(", "!", "\\")):
        scope.path(words[at].text, reads=reads)
        if at > 1 and not words[at].known and not words[at].quoted:
            scope.found.unclear("what 'find' does is only known when it runs")
        at += 1
    while at < len(words):
        text = words[at].text
        if text in _FIND_RUNS:
            end = next((i for i in range(at, len(words)) if words[i].text == ";" or _plus(words, i)), len(words))
            scope.repeat([_found(word) for word in words[at + 1 : end]])
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


def _only_reads(words: Sequence[Word]) -> bool:
    """Whether `find` changes nothing: it runs only commands that read."""
    runs = [words[at + 1].text for at, word in enumerate(words[:-1]) if word.text in _FIND_RUNS]
    return all(name in READ_ONLY for name in runs) and not any(word.text == "-delete" for word in words)


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
            inner = [_found(word._replace(text=_FD_MARK.sub("{}", word.text))) for word in words[at + 1 :]]
            scope.repeat([*inner, Word(UNRESOLVED, False)])
            return


def ripgrep(scope: Scope, words: Sequence[Word]) -> None:
    """`rg --pre command`."""
    for at, word in enumerate(words):
        name, equals, value = word.text.partition("=")
        if name in ("--pre", "--hostname-bin"):
            scope.run([word._replace(text=value) if equals else words[at + 1] if at + 1 < len(words) else Word("")])


def tar(scope: Scope, words: Sequence[Word]) -> None:
    """`tar`: options that run a program or remove what was packed, and the archive that it makes."""
    archive = _archive(words)
    if archive is not None and scope.place(archive.text).where is not Where.unknown:
        scope.write(archive)
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


def split(scope: Scope, words: Sequence[Word]) -> None:
    """`split --filter=code`, and the first file that it writes."""
    given = operands(words, _SPLIT_VALUED)
    prefix = given[1] if len(given) > 1 else Word("x")
    first = prefix._replace(text=f"{prefix.text}aa")
    filters = [word.text.partition("=")[2] for word in words[1:] if word.text.startswith("--filter=")]
    for code in filters:
        scope.code(_SPLIT_FILE.sub(first.text, code))
    if not filters or not first.known:
        scope.write(first)


def csplit(scope: Scope, words: Sequence[Word]) -> None:
    """`csplit file /pattern/ …`, and the first file that it writes."""
    prefix = next((words[at + 1] for at, word in enumerate(words[:-1]) if word.text in ("-f", "--prefix")), Word("xx"))
    for word in operands(words, _CSPLIT_VALUED)[:1]:
        scope.path(word.text, reads=True)
    scope.write(prefix._replace(text=f"{prefix.text}00"))
