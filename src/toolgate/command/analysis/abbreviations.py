"""Long options that are written short: GNU programs and git take any beginning that is unambiguous."""

from collections.abc import Sequence

from toolgate.command.words import Word

_COPIES = "--target-directory --no-clobber --force --directory --suffix --mode"
_CODE = "--command --shell --user --group"
_LONG = {
    name: tuple(options.split())
    for name, options in {
        "sed": "--expression --file --in-place",
        "gsed": "--expression --file --in-place",
        "sort": "--output --compress-program",
        "split": "--filter",
        "tar": "--to-command --use-compress-program --rsh-command --info-script --new-volume-script --checkpoint-action"
        " --remove-files --recursive-unlink --unlink-first --extract",
        "env": "--split-string --chdir --unset --ignore-environment",
        "xargs": "--replace --arg-file --max-args --max-procs --max-lines --delimiter",
        "flock": _CODE,
        "su": _CODE,
        "runuser": _CODE,
        "script": _CODE,
        "timeout": "--signal --kill-after",
        "nice": "--adjustment",
        "cp": _COPIES,
        "mv": _COPIES,
        "install": _COPIES,
        "ln": _COPIES,
        "tee": "--append",
        "chmod": "--recursive",
        "chown": "--recursive",
        "chgrp": "--recursive",
        "make": "--eval --file --makefile --directory",
        "man": "--pager --html --preprocessor",
        "git": "--abort --aggressive --amend --delete --discard-changes --dry-run --exec --ext-diff --extcmd --force"
        " --force-with-lease --global --hard --mirror --open-files-in-pager --output --prune --quit --receive-pack"
        " --reset --staged --system --textconv --tree-filter --upload-pack --worktree",
    }.items()
}


def spelled_out(words: Sequence[Word]) -> Sequence[Word]:
    """The words with such options in full, where they are among those that matter."""
    options = _LONG.get(words[0].text)
    if options is None or not any(word.text.startswith("--") for word in words):
        return words
    return [word._replace(text=_full(word.text, options)) for word in words]


def _full(text: str, options: tuple[str, ...]) -> str:
    name, equals, value = text.partition("=")
    if len(name) < 3 or not name.startswith("--") or name in options:
        return text
    return next((f"{option}{equals}{value}" for option in options if option.startswith(name)), text)
