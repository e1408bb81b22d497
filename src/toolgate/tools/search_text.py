"""Sentences that `glob`, `grep` and `ls` share about files that they left out."""

from collections.abc import Sequence

from toolgate.workspace.oserrors import quote

_MAX_NAMED = 5


def named(paths: Sequence[str]) -> str:
    """The first few of some paths, and how many more there are."""
    shown = ", ".join(quote(path) for path in sorted(paths)[:_MAX_NAMED])
    return f"{shown} and {len(paths) - _MAX_NAMED} more" if len(paths) > _MAX_NAMED else shown


def ignored_note(verb: str, directories: Sequence[str]) -> str:
    """That ignored files were left out, and how to include them."""
    among = f" (among them {named(directories)})" if directories else ""
    return f"Files that .gitignore excludes{among} were not {verb}; pass include_ignored=true to include them."


def left_out_note(count: int) -> str:
    """That a rule of the user's keeps some paths out of a list."""
    if not count:
        return ""
    return f" {count} {'path was' if count == 1 else 'paths were'} left out, which the user's policy denies."


def unreadable_note(directories: Sequence[str], too_deep: bool) -> list[str]:
    """That some directories could not be entered."""
    notes = []
    if directories:
        count = len(directories)
        notes.append(f"{count} {'directory' if count == 1 else 'directories'} could not be read: {named(directories)}.")
    if too_deep:
        notes.append("The tree is nested too deeply to be walked to its end.")
    return notes
