"""`git`: what discards work or history, what publishes, and options that run or write something."""

import re
from collections.abc import Callable, Sequence

from toolgate.command.analysis.known import names
from toolgate.command.analysis.paths import Where
from toolgate.command.analysis.scope import Scope
from toolgate.command.words import UNRESOLVED, Word

_READ_ONLY = names(
    """
    annotate blame cat-file check-attr check-ignore check-mailmap check-ref-format cherry count-objects describe diff
    diff-files diff-index diff-tree for-each-ref fsck get-tar-commit-id grep help log ls-files ls-remote
    ls-tree merge-base
    name-rev patch-id range-diff rev-list rev-parse shortlog show show-branch show-ref status var verify-commit
    verify-pack verify-tag version whatchanged
    """
)
_WRITES = names(
    """
    add am apply archive bisect branch bundle checkout checkout-index cherry-pick clean clone commit
    commit-graph commit-tree
    config difftool fast-export fast-import fetch filter-branch format-patch gc hash-object index-pack init
    interpret-trailers
    lfs maintenance merge merge-file merge-tree mergetool mktree multi-pack-index mv notes pack-objects
    pack-refs prune pull
    push read-tree rebase reflog remote repack replace request-pull rerere reset restore revert rm send-email
    sparse-checkout
    stash stripspace submodule switch symbolic-ref tag unpack-objects update-index update-ref worktree write-tree
    filter-repo archimport citool gui instaweb
    """
)
_SAFE_GLOBALS = names(
    """
    --no-pager -P -p --paginate --no-optional-locks --literal-pathspecs --glob-pathspecs --no-replace-objects
    --version --help
    """
)
_VALUED_GLOBALS = names("-C -c --git-dir --work-tree --namespace --exec-path --config-env --super-prefix --attr-source")
_TEXT_OPTIONS = names("-m --message -S -G --grep --author --date --format --pretty --since --until -F -t --trailer -L")
_COMMAND_KEYS = re.compile(
    r"alias\.|core\.(pager|editor|sshcommand|fsmonitor|askpass)|pager\.|diff\.|sequence\.editor|.*cmd$"
)
_HARMLESS_KEYS = re.compile(
    r"(?:color|column|advice|status)\.[\w.-]+|user\.(?:name|email)|init\.defaultbranch|commit\.gpgsign"
    r"|log\.(?:date|abbrevcommit|decorate|follow)|diff\.(?:context|[a-z]*color|renames|algorithm|noprefix|mnemonicprefix)"
    r"|core\.(?:quotepath|abbrev|autocrlf|safecrlf|eol|filemode|ignorecase|precomposeunicode)"
)
_CONFIG_READS = ("--get", "--get-all", "--get-regexp", "--get-urlmatch", "--list", "-l")
_CONFIG_WRITES = (
    "--add",
    "--unset",
    "--unset-all",
    "--replace-all",
    "--remove-section",
    "--rename-section",
    "--edit",
    "-e",
)
_RUNS_OPTIONS = {"bisect": "run", "difftool": "-x --extcmd", "rebase": "-x --exec", "submodule": "foreach"}


def git(scope: Scope, words: Sequence[Word]) -> None:
    """Look at one git command."""
    at, safe = _globals(scope, words)
    if at >= len(words) or not safe:
        scope.found.commands[tuple(word.text for word in words)] = None
    if at >= len(words):
        return
    verb, rest = words[at], words[at + 1 :]
    scope.found.commands[("git", verb.text, *(word.text for word in rest))] = None
    if not verb.known:
        scope.found.unclear("the git command is only known when it runs")
        return
    if verb.text not in _READ_ONLY:
        scope.found.changes = True
        if verb.text not in _WRITES:
            scope.found.unclear(f"'git {verb.text}' is an alias or an unknown command")
    texts = [word.text for word in rest]
    reason = _danger(scope, verb.text, texts)
    if reason:
        scope.found.danger(reason)
    _options(scope, verb.text, rest)
    _paths(scope, verb.text, rest)


def _globals(scope: Scope, words: Sequence[Word]) -> tuple[int, bool]:
    """The position of the git command, and whether no option before it changes what git does."""
    at, safe = 1, True
    while at < len(words) and words[at].text.startswith("-"):
        name, equals, value = words[at].text.partition("=")
        if name in _VALUED_GLOBALS and not equals:
            value = words[at + 1].text if at + 1 < len(words) else ""
            at += 1
        if name == "-C":
            scope.path(value)
        elif name not in _SAFE_GLOBALS:
            safe = False
            _risky_global(scope, name, value)
        at += 1
    if not words[at - 1].known:
        scope.found.unclear("an option of git is only known when it runs")
    return at, safe


def _risky_global(scope: Scope, name: str, value: str) -> None:
    if name in ("--git-dir", "--work-tree"):
        scope.path(value)
    elif name == "-c" and _HARMLESS_KEYS.fullmatch(value.partition("=")[0].lower()):
        return
    elif name in ("-c", "--config-env", "--exec-path"):
        key, _, command = value.partition("=")
        if _COMMAND_KEYS.match(key.lower()):
            scope.code(command.removeprefix("!"))
        scope.found.danger(f"'git {name} {value}' changes what git runs")


def _danger(scope: Scope, verb: str, texts: list[str]) -> str:
    judge = _JUDGES.get(verb)
    if judge is None:
        return ""
    return judge if isinstance(judge, str) else judge(scope, texts)


def _has(texts: list[str], *options: str) -> bool:
    """Whether an option is given, also as a letter in a cluster."""
    for text in texts:
        if text == "--":
            return False
        for option in options:
            if text == option or text.startswith(option + "="):
                return True
            if len(option) == 2 and re.fullmatch(rf"-[a-zA-Z]*{option[1]}[a-zA-Z]*", text):
                return True
    return False


def _operands(texts: list[str]) -> list[str]:
    return [text for text in texts if not text.startswith("-")]


def _checkout(scope: Scope, texts: list[str]) -> str:
    if _has(
        texts, "-f", "--force", "-B", "--ours", "--theirs", "--discard-changes", "-p", "--patch", "-m", "--merge", "-C"
    ):
        return "it may discard uncommitted work"
    if "--" in texts or (_has(texts, "--pathspec-from-file")):
        return "it discards uncommitted work"
    if _has(texts, "-b", "--orphan", "-c", "--create"):
        return ""
    operands = _operands(texts)
    exists = any(_exists(scope, text) for text in operands)
    return "it discards uncommitted work" if exists or len(operands) > 1 else ""


def _exists(scope: Scope, text: str) -> bool:
    place = scope.place(text)
    if UNRESOLVED in text or any(letter in text for letter in "*?["):
        return "." in text
    return place.where is Where.inside and any(scope.around.kind(path) != "absent" for path in place.paths)


def _restore(_: Scope, texts: list[str]) -> str:
    only_index = _has(texts, "--staged", "-S") and not _has(texts, "--worktree", "-W")
    return "" if only_index else "it discards uncommitted work"


def _reset(_: Scope, texts: list[str]) -> str:
    if _has(texts, "--hard", "--merge", "--keep"):
        return "it discards uncommitted work"
    moves = [
        text
        for text in _operands(texts)
        if re.match(r"(HEAD|@)?[~^]|(HEAD|@)@|origin/|[0-9a-f]{7,40}$", text) or re.search(r"[~^]\d*$", text)
    ]
    return "it takes commits off the branch" if moves and "--" not in texts else ""


def _branch(_: Scope, texts: list[str]) -> str:
    forced = _has(texts, "-f", "--force", "-M", "-C", "-D")
    return "it may discard commits of a branch" if forced else ""


def _stash(_: Scope, texts: list[str]) -> str:
    return "it discards stashed work" if texts[:1] in (["drop"], ["clear"]) else ""


def _config(_: Scope, texts: list[str]) -> str:
    """`git config --global name` shows a setting; with a value behind the name it changes one."""
    if not _has(texts, "--global", "--system"):
        return ""
    given = _operands(texts)
    shows = _has(texts, *_CONFIG_READS) or given[:1] in (["list"], ["get"]) or (len(given) == 1 and "." in given[0])
    return "" if shows and not _has(texts, *_CONFIG_WRITES) else "it changes settings outside the root"


def _only(reason: str, *options: str) -> Callable[[Scope, list[str]], str]:
    return lambda _, texts: reason if _has(texts, *options) else ""


def _unless(reason: str, *options: str) -> Callable[[Scope, list[str]], str]:
    return lambda _, texts: "" if _has(texts, *options) else reason


def _verbs(reason: str, *verbs: str) -> Callable[[Scope, list[str]], str]:
    return lambda _, texts: reason if (_operands(texts) or [""])[0] in verbs else ""


_JUDGES: dict[str, str | Callable[[Scope, list[str]], str]] = {
    "push": _unless("it publishes commits", "-n", "--dry-run"),
    "send-email": "it publishes commits",
    "rebase": "it rewrites history",
    "filter-branch": "it rewrites history",
    "filter-repo": "it rewrites history",
    "replace": "it rewrites history",
    "fast-import": "it rewrites history",
    "commit": _only("it rewrites the last commit", "--amend"),
    "pull": _only("it rewrites or discards history", "--rebase", "-r", "--force", "-f"),
    "fetch": _only("it may discard remote history", "--force", "-f", "--prune", "-p"),
    "clean": _unless("it removes files", "-n", "--dry-run"),
    "rm": _unless("it removes files", "-n", "--dry-run", "--cached"),
    "mv": _only("it may overwrite files", "-f", "--force"),
    "checkout": _checkout,
    "switch": _only("it may discard uncommitted work", "-f", "--force", "--discard-changes", "-C", "-m", "--merge"),
    "restore": _restore,
    "reset": _reset,
    "stash": _stash,
    "branch": _branch,
    "tag": _only("it removes or moves a tag", "-d", "--delete", "-f", "--force"),
    "reflog": _verbs("it discards history", "expire", "delete"),
    "gc": _only("it discards history", "--prune", "--aggressive"),
    "prune": _unless("it discards history", "-n", "--dry-run"),
    "update-ref": "it changes history directly",
    "symbolic-ref": lambda _, texts: "it changes history directly" if len(_operands(texts)) > 1 else "",
    "read-tree": _only("it discards uncommitted work", "-u", "--reset"),
    "checkout-index": _only("it overwrites files", "-f", "--force"),
    "worktree": _verbs("it removes a work tree", "remove", "prune"),
    "submodule": _verbs("it removes files", "deinit"),
    "remote": _verbs("it changes where commits are published", "set-url"),
    "config": _config,
    "lfs": _verbs("it publishes or discards files", "push", "prune"),
    "notes": _verbs("it discards notes", "remove", "prune"),
    "merge": _only("it discards a merge", "--abort"),
    "cherry-pick": _only("it discards work", "--abort", "--quit"),
    "revert": _only("it discards work", "--abort", "--quit"),
    "am": _only("it discards work", "--abort", "--quit"),
}


def _options(scope: Scope, verb: str, rest: Sequence[Word]) -> None:
    """Options that write a file or run a command."""
    for at, word in enumerate(rest):
        name, equals, value = word.text.partition("=")
        following = rest[at + 1] if at + 1 < len(rest) else Word("")
        if name == "--output" or (word.text == "-o" and verb in ("archive", "bundle")):
            scope.write(word._replace(text=value) if equals else following)
        elif (
            name in ("--ext-diff", "--textconv", "--upload-pack", "--receive-pack", "--open-files-in-pager")
            or (name == "--exec" and verb != "rebase")
            or (verb == "grep" and re.match(r"-O", word.text))
        ):
            scope.found.unclear(f"'git {verb} {word.text}' runs another program")
        elif name in _RUNS_OPTIONS.get(verb, "").split():
            _runs(scope, verb, word._replace(text=value) if equals else following, rest[at + 1 :])
            return


def _runs(scope: Scope, verb: str, code: Word, words: Sequence[Word]) -> None:
    if verb == "bisect":
        scope.run(words)
        return
    if not code.known:
        scope.found.unclear(f"part of what 'git {verb}' runs is only known when it runs")
    scope.code(code.text)


def _paths(scope: Scope, verb: str, rest: Sequence[Word]) -> None:
    """Operands outside the root; messages and patterns are none."""
    if verb in ("grep", "commit", "notes") and not any(word.text == "--" for word in rest):
        return
    skip = False
    for word in rest:
        if skip or word.text.startswith("-"):
            skip = not skip and word.text in _TEXT_OPTIONS
            continue
        if word.text.startswith(("/", "~")) or ".." in word.text.split("/"):
            scope.path(word.text)
