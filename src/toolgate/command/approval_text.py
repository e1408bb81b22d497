"""The text of an approval request: made from what will run, with lines that a command cannot imitate."""

import hashlib
from collections.abc import Iterator, Mapping, Sequence

from toolgate.text.visible import collapse_runs, visible

GUTTER = "│ "
"""Every line of a command that has several begins with this, and no other line of a request does."""
_MAX_VALUE = 200
"""Characters of a variable's value that are shown."""
_MAX_VARIABLES = 50
"""Variables that are shown with their values; of the others, the names."""
_MAX_NAMES = 4000
_SUMMARY = 200


def request_detail(
    command: str,
    *,
    cwd: str = ".",
    access: str = "write",
    reasons: Sequence[str] = (),
    values: Mapping[str, str | None] | None = None,
    environment: Mapping[str, str | None] | None = None,
    scripts: Mapping[str, str] | None = None,
    definitions: Mapping[str, str] | None = None,
    inputs: Mapping[str, str] | None = None,
    once: str = "",
    description: str = "",
) -> str:
    """What a person is shown before `command` runs.

    `values` are the variables that it uses, `environment` the changed variables that programs inherit (None: it is not
    set), `scripts` and `inputs` the files that it runs and reads with their hashes, `definitions` the shell functions
    and aliases that it uses. `once` says why the answer cannot be remembered. What the model says about the command is
    labelled as such. Where blank space is left out, the whole text follows.
    """
    shown = visible(command)
    short = collapse_runs(shown)
    command_lines = [GUTTER + line for line in short.split("\n")] if "\n" in short else [short]
    lines = [*command_lines, "", f"in: {_one_line(cwd)}   access: {access}"]
    lines += [f"because: {visible(reason, keep='')}" for reason in reasons]
    lines += _variables("where", values or {})
    lines += _variables("with", environment or {})
    lines += [f"runs {_one_line(path)} (sha256 {digest})" for path, digest in (scripts or {}).items()]
    lines += [f"reads {_one_line(path)} (sha256 {digest})" for path, digest in (inputs or {}).items()]
    for name, text in (definitions or {}).items():
        lines.append(f"uses '{_one_line(name)}' as this shell defines it (sha256 {_hash(text)})")
    if once:
        lines.append(f"asked every time: {visible(once, keep='')}")
    if description:
        lines.append(f"the model says (not verified): {collapse_runs(visible(description, keep=''))}")
    if short != shown:
        lines += ["", f"the whole command, {len(command)} characters:", GUTTER + visible(command, keep="")]
    return "\n".join(lines)


def request_summary(command: str) -> str:
    """A command in one short line, with its beginning and its end."""
    text = collapse_runs(visible(command, keep=""))
    if len(text) <= _SUMMARY:
        return text
    kept = _SUMMARY // 2
    return f"{text[:kept]} ⟨{len(text) - 2 * kept} characters left out⟩ {text[-kept:]}"


def without_command(detail: str) -> str:
    """The lines of a request that its command did not write."""
    lines = detail.split("\n")
    start = 0 if lines[0].startswith(GUTTER) else 1
    return "\n".join(line for line in lines[start:] if not line.startswith(GUTTER))


def _one_line(text: str) -> str:
    """Text that cannot look like two columns."""
    return visible(text, keep="").replace("  ", " \\x20")


def _variables(word: str, variables: Mapping[str, str | None]) -> Iterator[str]:
    """One line per variable; of very many, the names and one hash over all of the rest."""
    items = list(variables.items())
    for name, value in items[:_MAX_VARIABLES]:
        yield f"{word} {_one_line(name)}{_value(value)}"
    rest = items[_MAX_VARIABLES:]
    if rest:
        names = visible(", ".join(name for name, _ in rest), keep="")
        if len(names) > _MAX_NAMES:
            names = f"{names[:_MAX_NAMES]} ⟨{len(names) - _MAX_NAMES} characters left out⟩"
        yield f"{word} {len(rest)} more variables (sha256 {_hash(repr(rest))}): {names}"


def _value(value: str | None) -> str:
    if value is None:
        return " not set"
    shown = visible(value, keep="")
    if len(shown) <= _MAX_VALUE:
        return f"={shown}"
    half = _MAX_VALUE // 2
    left_out = len(shown) - 2 * half
    return f"={shown[:half]}⟨{left_out} characters left out, sha256 {_hash(value)}⟩{shown[-half:]}"


def _hash(text: str) -> str:
    return hashlib.sha256(text.encode("utf-8", "surrogatepass")).hexdigest()
