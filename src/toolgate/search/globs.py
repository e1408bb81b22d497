"""Glob patterns as regular expressions that match in linear time.

`*` and `?` stay inside one name, `**` as a whole segment crosses directories, `[a-z]` and `[!a-z]` are one character,
`{a,b}` is either, `\\` takes the next character literally. A name that begins with a dot is a name like any other.

Stars are compiled to atomic groups that take the shortest way to the next fixed piece. That is never wrong, because an
earlier end of a piece leaves more for what follows, and it makes a pattern such as `*a*a*a*b` harmless.
"""

import re

MAX_ALTERNATIVES = 256
"""Most patterns that the braces of one pattern may expand to."""

_ANY_FOLDERS = "(?:[^/]+/)*"


class GlobError(ValueError):
    """The pattern is invalid; the message says why."""


def expand(pattern: str) -> list[str]:
    """Expand a pattern with braces into patterns without."""
    done: list[str] = []
    todo = [pattern]
    while todo:
        current = todo.pop()
        group = _first_group(current)
        if group is None:
            done.append(current)
        else:
            before, options, after = group
            todo.extend(before + option + after for option in reversed(options))
        if len(done) + len(todo) > MAX_ALTERNATIVES:
            raise GlobError(f"the braces expand to more than {MAX_ALTERNATIVES} patterns")
    return done


def split(pattern: str) -> list[str]:
    """Split a pattern without braces into segments. Empty ones and `.` are dropped, repeated `**` are merged."""
    segments: list[str] = []
    for segment in pattern.split("/"):
        if segment in ("", ".") or (segment == "**" and segments[-1:] == ["**"]):
            continue
        segments.append(segment)
    return segments


def is_literal(segment: str) -> bool:
    """Whether a segment matches exactly one name, spelled as it is."""
    return not any(character in "*?[\\" for character in segment)


def segment_regex(segment: str) -> str:
    """Return the regular expression of one segment that is not `**`."""
    pieces = _pieces(segment)
    if len(pieces) == 1:
        return pieces[0]
    middle = "".join(f"(?>[^/]*?{piece})" for piece in pieces[1:-1] if piece)
    return f"{pieces[0]}{middle}[^/]*{pieces[-1]}"


def path_regex(segments: list[str]) -> str:
    """Return the regular expression of a whole relative path."""
    runs: list[list[str]] = [[]]
    for segment in segments:
        if segment == "**":
            runs.append([])
        else:
            runs[-1].append(segment_regex(segment))
    if len(runs) == 1:
        return "/".join(runs[0])
    start = "".join(f"{segment}/" for segment in runs[0])
    middle = "".join(f"(?>(?:[^/]+/)*?{'/'.join(run)}/)" for run in runs[1:-1] if run)
    end = "/".join(runs[-1]) or "[^/]+"
    return f"{start}{middle}{_ANY_FOLDERS}{end}"


def compile_paths(alternatives: list[list[str]]) -> re.Pattern[str]:
    """Return one pattern for several lists of segments. Use `fullmatch`."""
    return compile_any([path_regex(segments) for segments in alternatives])


def compile_any(expressions: list[str]) -> re.Pattern[str]:
    """Return one pattern for several regular expressions. Use `fullmatch`."""
    return re.compile("|".join(f"(?:{expression})" for expression in expressions) or r"(?!)", re.DOTALL)


def _first_group(pattern: str) -> tuple[str, list[str], str] | None:
    """Return the text before the first brace group, its options, and the text after it."""
    depth, start, option_start = 0, 0, 0
    options: list[str] = []
    position = 0
    while position < len(pattern):
        character = pattern[position]
        if character == "\\":
            position += 1
        elif character == "[" and depth == 0:
            position = _class_end(pattern, position)
        elif character == "{":
            depth += 1
            if depth == 1:
                start, option_start = position, position + 1
        elif character == "," and depth == 1:
            options.append(pattern[option_start:position])
            option_start = position + 1
        elif depth and character == "}":
            depth -= 1
            if depth == 0:
                return pattern[:start], [*options, pattern[option_start:position]], pattern[position + 1 :]
        position += 1
    if depth:
        raise GlobError(f"the '{{' at character {start + 1} is not closed; write '\\{{' for a literal one")
    return None


def _class_end(text: str, start: int) -> int:
    """Return the index of the `]` that ends the class at `start`."""
    first = start + 2 if text[start + 1 : start + 2] in ("!", "^") else start + 1
    end = text.find("]", first + 1)
    if end < 0:
        raise GlobError(f"the '[' at character {start + 1} is not closed; write '\\[' for a literal one")
    return end


def _pieces(segment: str) -> list[str]:
    """Return the parts between the stars, each as a regular expression."""
    pieces = [""]
    position = 0
    while position < len(segment):
        character = segment[position]
        if character == "*":
            if pieces[-1] or len(pieces) == 1:
                pieces.append("")
        elif character == "?":
            pieces[-1] += "[^/]"
        elif character == "[":
            end = _class_end(segment, position)
            pieces[-1] += _class(segment[position + 1 : end])
            position = end
        else:
            if character == "\\":
                position += 1
                if position == len(segment):
                    raise GlobError("the '\\' at the end takes nothing literally; write '\\\\' for a backslash")
            pieces[-1] += re.escape(segment[position])
        position += 1
    return pieces


def _class(body: str) -> str:
    """Convert the inside of a bracket expression to a regular expression that never matches a slash."""
    negated = body[0] in "!^"
    members = body[1:] if negated else body
    out, position = "", 0
    while position < len(members):
        first = last = members[position]
        if members[position + 1 : position + 2] == "-" and position + 2 < len(members):
            last = members[position + 2]
            position += 2
        if last < first:
            raise GlobError(f"the range '{first}-{last}' is the wrong way round")
        out += re.escape(first) if first == last else f"{re.escape(first)}-{re.escape(last)}"
        position += 1
    return f"[^/{out}]" if negated else f"(?!/)[{out}]"
