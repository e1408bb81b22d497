"""The regular expressions of `grep`: ripgrep's, translated to Python's for the search without ripgrep.

Both engines look at one line at a time, so a pattern never matches a line end; `^` and `$` are the ends of a line, with
or without a carriage return. What is the same text in both languages but means something else (`a++`, `\\s`, `[^x]`)
is rewritten; what only ripgrep can do is refused by name.
"""

import re

from toolgate.search.charset import ANY, SPACE, CharSet, posix

MAX_DEPTH = 200
"""Deepest nesting of groups."""
MAX_REPEATS = 1000
"""Largest count of a repetition that Python tries."""

_START = r"(?:^|(?<=\r)(?!\n))"
_END = r"(?:(?=\r)|(?!\r)\Z|(?<!\r)(?=\n))"
_CONTROL = {"a": "\a", "f": "\f", "t": "\t", "n": "\n", "r": "\r", "v": "\v"}
_HEX = {"x": 2, "u": 4, "U": 8}
_PARTS = re.compile(r"\\.|\[\^?\]?|.", re.DOTALL)
_BOUNDARIES = {
    r"{start}": r"(?:\b(?=\w))",
    r"{end}": r"(?:\b(?<=\w))",
    r"{start-half}": r"(?<!\w)",
    r"{end-half}": r"(?!\w)",
}


class PatternError(ValueError):
    """The pattern is not valid in this dialect."""

    def __init__(self, reason: str, position: int) -> None:
        super().__init__(f"{reason} at character {position + 1}")


class UnopenedGroup(PatternError):
    """There is a `)` without `(`. ripgrep puts the pattern into a group of its own, and may take it for its end."""


class NeedsRipgrep(ValueError):
    """The pattern is valid, but only ripgrep can search for it."""


def by_line(pattern: str) -> str:
    r"""Return the pattern for ripgrep. `\A` and `\z` become the ends of a line, for which ripgrep is not consistent."""
    depth, parts = 0, []
    for part in _PARTS.findall(pattern):
        depth = max(0, depth + (part[0] == "[") - (part == "]"))
        parts.append(part if depth else {r"\A": "^", r"\z": "$"}.get(part, part))
    return "".join(parts)


class Translation:
    """A pattern in Python's syntax."""

    __slots__ = ("literal", "pattern")

    def __init__(self, pattern: str, literal: str) -> None:
        self.pattern = pattern
        self.literal = literal
        """The longest text that every matching line contains; empty if there is none or case is ignored."""


def translate(pattern: str) -> Translation:
    """Translate a whole pattern. Raises `PatternError` or `NeedsRipgrep`."""
    parser = _Parser(pattern)
    translated = parser.alternation(0)
    if parser.position < len(pattern):
        raise UnopenedGroup("unopened group", parser.position)
    return Translation(translated, parser.longest())


class _Parser:
    """A recursive descent over the pattern; each method returns the translation of what it consumed."""

    def __init__(self, pattern: str) -> None:
        self.pattern = pattern
        self.position = 0
        self.ignore_case = False
        self._runs = [""]
        self._no_literal = False
        self._names: set[str] = set()

    def longest(self) -> str:
        """The longest run of plain characters outside every group, choice and repetition."""
        return "" if self._no_literal else max(self._runs, key=len)

    def peek(self, length: int = 1) -> str:
        return self.pattern[self.position : self.position + length]

    def alternation(self, depth: int) -> str:
        if depth > MAX_DEPTH:
            raise PatternError(f"groups are nested more than {MAX_DEPTH} deep", self.position)
        outside = self.ignore_case
        branches = [self.sequence(depth)]
        while self.peek() == "|":
            self.position += 1
            self._no_literal = self._no_literal or depth == 0
            branches.append(self.sequence(depth))
        self.ignore_case = outside
        return "|".join(branches)

    def sequence(self, depth: int) -> str:
        out = ""
        while self.position < len(self.pattern) and self.peek() not in "|)":
            start = self.position
            atom, plain = self.atom(depth)
            repeated = self.repetition(atom)
            if depth == 0:
                self._note(plain if repeated == atom and not self.ignore_case else "", start)
            out += repeated
        return out

    def _note(self, plain: str, start: int) -> None:
        if plain:
            self._runs[-1] += plain
        elif self.pattern[start] not in "^$":
            self._runs.append("")

    def repetition(self, atom: str) -> str:
        while True:
            start = self.position
            operator = self.peek()
            if operator and operator in "*+?":
                self.position += 1
            elif operator == "{":
                operator = self.count()
            else:
                return atom
            if not atom:
                raise PatternError("repetition operator missing expression", start)
            if self.peek() == "?":  # laziness changes which match is found, not whether there is one
                self.position += 1
            atom = f"(?:{atom}{operator})"

    def count(self) -> str:
        start = self.position
        end = self.pattern.find("}", start)
        if end < 0:
            raise PatternError("unclosed counted repetition", start)
        low, comma, high = (part.strip() for part in self.pattern[start + 1 : end].partition(","))
        if not all(part.isdecimal() and part.isascii() and len(part) < 10 for part in (low, high or "0")):
            raise PatternError("a counted repetition needs decimal numbers, as in {0,3}; found something else", start)
        first, last = int(low), int(high or 0)
        if high and last < first:
            raise PatternError("a counted repetition must not go downwards; found one", start)
        if max(first, last) > MAX_REPEATS:
            raise NeedsRipgrep(f"a repetition of more than {MAX_REPEATS}")
        self.position = end + 1
        return f"{{{first},{last if high else ''}}}" if comma else f"{{{first}}}"

    def atom(self, depth: int) -> tuple[str, str]:
        """Return the next atom, and its character if it matches exactly one."""
        character = self.peek()
        start = self.position
        if character in "*+?{":
            raise PatternError("repetition operator missing expression", start)
        if character == "(":
            return self.group(depth), ""
        if character == "[":
            return self._cased(self.bracket().regex()), ""
        if character == "\\":
            return self.escape()
        self.position += 1
        if character == ".":
            return ANY, ""
        if character in "^$":
            return (_START if character == "^" else _END), ""
        return self._literal(character, start)

    def _literal(self, character: str, start: int) -> tuple[str, str]:
        if character in "\n\r":
            raise PatternError("a line end cannot be searched for: every line is looked at by itself,", start)
        return self._cased(_escaped(character)), character

    def _cased(self, expression: str) -> str:
        return f"(?i:{expression})" if self.ignore_case else expression

    def group(self, depth: int) -> str:
        start = self.position
        self.position += 1
        outside = self.ignore_case
        if self.peek() == "?":
            self.position += 1
            if self.peek(2) in ("P<", "<=", "<!") or self.peek() in ("<", "=", "!"):
                self._name(start)
            elif self._flags(start):
                return ""
        inner = self.alternation(depth + 1)
        if self.peek() != ")":
            raise PatternError("unclosed group", start)
        self.position += 1
        self.ignore_case = outside
        return f"(?:{inner})"

    def _name(self, start: int) -> None:
        if self.peek(2) in ("<=", "<!") or self.peek() in ("=", "!"):
            raise PatternError("look-around is not supported; found", start)
        opened = self.pattern.index("<", self.position)
        end = self.pattern.find(">", opened)
        name = self.pattern[opened + 1 : end] if end > 0 else ""
        if not name or name in self._names or not (name[0].isalpha() or name[0] == "_"):
            raise PatternError("a group's name is missing, wrong or used twice", start)
        if not all(character.isalnum() or character in "_.[]" for character in name):
            raise PatternError("a group's name may have letters, digits and _ . [ ] only; found something else", start)
        self._names.add(name)
        self.position = end + 1

    def _flags(self, start: int) -> bool:
        """Read flags; True if they form the whole group and apply to the rest of the enclosing one."""
        seen = ""
        while (flag := self.peek()) and flag not in ":)":
            self._flag(flag, seen)
            self.position += 1
            seen += flag
        if not flag:
            raise PatternError("unclosed group", start)
        if seen.endswith("-") or (not seen and flag == ")"):
            raise PatternError("a group of flags has no flag where one is expected; found", start)
        self.position += 1
        return flag == ")"

    def _flag(self, flag: str, seen: str) -> None:
        """Apply one flag after those that were `seen` in the same group."""
        if flag in seen:
            raise PatternError(f"'{flag}' is twice in one group of flags; found", self.position)
        on = "-" not in seen
        if flag == "i":
            self.ignore_case = on
        elif flag in "xRu" or (flag == "m" and not on):
            raise NeedsRipgrep(f"the flag '{flag}'")
        elif flag not in "msU-":
            raise PatternError(f"unrecognized flag '{flag}'", self.position)

    def escape(self) -> tuple[str, str]:
        start = self.position
        letter = self.peek(2)[1:]
        self.position += 2
        if not letter:
            raise PatternError("incomplete escape sequence", start)
        if letter in "dDwWsS":
            return self._cased(perl(letter).regex()), ""
        if letter in "Az":
            return (_START if letter == "A" else _END), ""
        if letter in "bB":
            return self._boundary(letter, start), ""
        if letter in "<>":
            return (r"(?:\b(?=\w))" if letter == "<" else r"(?:\b(?<=\w))"), ""
        if letter in "pP":
            raise self._unicode_class(start)
        return self._literal(self.escaped_character(letter, start), start)

    def _boundary(self, letter: str, start: int) -> str:
        """Return the word boundary whose letter was read; it is in a group, because Python repeats no bare one."""
        if letter == "b" and re.match(r"\{[A-Za-z-]", self.peek(2)):
            end = self.pattern.find("}", self.position) + 1
            named = _BOUNDARIES.get(self.pattern[self.position : end])
            if named is None:
                raise PatternError(r"the word boundaries are \b{start}, {end}, {start-half}, {end-half}; found", start)
            self.position = end
            return named
        return f"(?:\\{letter})"

    def _unicode_class(self, start: int) -> ValueError:
        """Return what to raise for a Unicode class, whose letter was read."""
        if not self.peek() or (self.peek() == "{" and self.pattern.find("}", self.position) < 0):
            return PatternError("incomplete escape sequence", start)
        if self.peek() not in set("{CLMNPSZ"):
            return PatternError("Unicode property not found", start)
        return NeedsRipgrep("a Unicode class")

    def escaped_character(self, letter: str, start: int) -> str:
        """Return the character of an escape. The position is after its letter."""
        if letter in _CONTROL:
            return _CONTROL[letter]
        if letter in _HEX:
            return self._hexadecimal(_HEX[letter], start)
        if letter.isdecimal() and letter.isascii():
            raise PatternError("backreferences are not supported; found", start)
        if letter.isalpha() and letter.isascii():
            raise PatternError(f"unrecognized escape sequence '\\{letter}'", start)
        if not letter.isascii():
            raise PatternError("only ASCII punctuation can be escaped; found something else", start)
        return letter

    def _hexadecimal(self, digits: int, start: int) -> str:
        if self.peek() == "{":
            end = self.pattern.find("}", self.position)
            text, after = self.pattern[self.position + 1 : max(end, 0)], end + 1
        else:
            text, after = self.peek(digits), self.position + digits
            text = text if len(text) == digits else ""
        try:
            character = chr(int(text, 16)) if text.isalnum() else ""
        except (ValueError, OverflowError):
            character = ""
        if not character or 0xD800 <= ord(character) <= 0xDFFF:
            raise PatternError("invalid hexadecimal escape", start)
        self.position = after
        return character

    def bracket(self, depth: int = 0) -> CharSet:
        """Translate a bracket expression. The position is at its `[`."""
        start = self.position
        if depth > MAX_DEPTH:
            raise PatternError(f"classes are nested more than {MAX_DEPTH} deep", start)
        self.position += 1
        found = CharSet()
        found.negated = self._opened(found)
        while self.peek() != "]":
            if self.position >= len(self.pattern):
                raise PatternError("unclosed character class", start)
            self._member(found, start, depth)
        self.position += 1
        if not (depth or found.negated or found.perl or found.opposites) and found.only_line_ends():
            raise PatternError("a line end cannot be searched for: every line is looked at by itself,", start)
        return found

    def _opened(self, found: CharSet) -> bool:
        """Read what may stand at the start of a set: `^`, then `-` or `]` that stand for themselves."""
        negated = self.peek() == "^"
        self.position += negated
        while self.peek() == "-" or (self.peek() == "]" and not found.ranges):
            found.ranges.append((ord(self.peek()), ord(self.peek())))
            self.position += 1
            if found.ranges[-1][0] == ord("]"):
                break
        return negated

    def _member(self, found: CharSet, start: int, depth: int) -> None:
        if self.peek(2) in ("&&", "--", "~~"):
            raise NeedsRipgrep("an operation on classes")
        if self.peek() == "[":
            end = self.pattern.find(":]", self.position + 2) if self.peek(2) == "[:" else -1
            named = posix(self.pattern[self.position + 2 : end]) if end > 0 else None
            if named is not None:
                found.ranges += named
                self.position = end + 2
            else:
                found.merge(self.bracket(depth + 1))
            return
        low = self._one(found, start)
        high = low
        if self.peek() == "-" and self.peek(2)[1:] not in ("]", "-", ""):
            self.position += 1
            high = self._one(None, start)
            if low is None or high is None or high < low:
                raise PatternError("invalid character class range", start)
        if low is None or high is None:
            return
        found.ranges.append((ord(low), ord(high)))

    def _one(self, found: CharSet | None, start: int) -> str | None:
        """Return one character of a class; None after a Perl class, which is added to `found`."""
        character = self.peek()
        self.position += 1
        if character != "\\":
            return character
        letter = self.peek()
        self.position += 1
        if letter and letter in "dDwWsS":
            if found is None:
                raise PatternError("invalid character class range", start)
            found.merge(perl(letter))
            return None
        if letter and letter in "pP":
            raise self._unicode_class(self.position - 2)
        if not letter or letter in "AzbB<>":
            raise PatternError("invalid escape sequence in a character class", self.position - 2)
        return self.escaped_character(letter, self.position - 2)


def perl(letter: str) -> CharSet:
    r"""Return the class of `\d`, `\w`, `\s` and their opposites."""
    found = CharSet()
    if letter in "sS":
        found.ranges = list(SPACE)
    else:
        found.perl = ["\\" + letter.lower()]
    found.negated = letter.isupper()
    return found


def _escaped(character: str) -> str:
    if character.isalnum() or character == "_" or not character.isascii():
        return character
    return f"\\x{ord(character):02x}" if character.isspace() or not character.isprintable() else "\\" + character
