"""Character sets for the translated patterns of `grep`."""

from collections.abc import Iterable

Range = tuple[int, int]

LAST = 0x10FFFF
UNMATCHABLE = r"\r\n\udc80-\udcff"
"""Characters that no class matches: line ends, and bytes that are not UTF-8 (decoded to lone surrogates)."""
ANY = f"[^{UNMATCHABLE}]"
"""Any character of a line."""
SPACE: tuple[Range, ...] = (
    *((0x09, 0x0D), (0x20, 0x20), (0x85, 0x85), (0xA0, 0xA0), (0x1680, 0x1680), (0x2000, 0x200A)),
    *((0x2028, 0x2029), (0x202F, 0x202F), (0x205F, 0x205F), (0x3000, 0x3000)),
)
r"""Unicode's white space. Python's `\s` has four more control characters."""

_UPPER, _LOWER, _DIGIT = (0x41, 0x5A), (0x61, 0x7A), (0x30, 0x39)
_POSIX: dict[str, tuple[Range, ...]] = {
    "alnum": (_DIGIT, _UPPER, _LOWER),
    "alpha": (_UPPER, _LOWER),
    "ascii": ((0x00, 0x7F),),
    "blank": ((0x09, 0x09), (0x20, 0x20)),
    "cntrl": ((0x00, 0x1F), (0x7F, 0x7F)),
    "digit": (_DIGIT,),
    "graph": ((0x21, 0x7E),),
    "lower": (_LOWER,),
    "print": ((0x20, 0x7E),),
    "punct": ((0x21, 0x2F), (0x3A, 0x40), (0x5B, 0x60), (0x7B, 0x7E)),
    "space": ((0x09, 0x0D), (0x20, 0x20)),
    "upper": (_UPPER,),
    "word": (_DIGIT, _UPPER, (0x5F, 0x5F), _LOWER),
    "xdigit": (_DIGIT, (0x41, 0x46), (0x61, 0x66)),
}


def posix(name: str) -> list[Range] | None:
    """Return the ranges of a POSIX class such as `alpha` or `^alpha`; None if it does not exist."""
    ranges = _POSIX.get(name.removeprefix("^"))
    if ranges is None:
        return None
    return complement(ranges) if name.startswith("^") else list(ranges)


def complement(ranges: Iterable[Range]) -> list[Range]:
    """Return all other characters."""
    out: list[Range] = []
    following = 0
    for low, high in sorted(ranges):
        if low > following:
            out.append((following, low - 1))
        following = max(following, high + 1)
    if following <= LAST:
        out.append((following, LAST))
    return out


class CharSet:
    """What a bracket expression matches."""

    __slots__ = ("negated", "opposites", "perl", "ranges")

    def __init__(self) -> None:
        self.ranges: list[Range] = []
        self.perl: list[str] = []
        r"""`\d` and `\w`, which have too many ranges to list."""
        self.opposites: list[str] = []
        """Further sets, in Python's syntax, that cannot be written inside its brackets."""
        self.negated = False

    def merge(self, other: "CharSet") -> None:
        """Add everything that a nested set matches."""
        if other.negated and not other.perl and not other.opposites:
            self.ranges += complement(other.ranges)
        elif other.negated:
            self.opposites.append(other.regex())
        else:
            self.ranges += other.ranges
            self.perl += other.perl
            self.opposites += other.opposites

    def only_line_ends(self) -> bool:
        """Whether it has ranges, and nothing in them is found in a line."""
        return bool(self.ranges) and not _matchable(self.ranges)

    def regex(self) -> str:
        """Return the set in Python's syntax."""
        inside = "".join(_written(low, high) for low, high in _matchable(self.ranges)) + "".join(self.perl)
        plain = f"[{inside}]" if inside else "(?!)"
        either = f"(?:{'|'.join([plain, *self.opposites])})" if self.opposites else plain
        if self.negated:
            return f"(?:(?!{either}){ANY})" if self.opposites else f"[^{inside}{UNMATCHABLE}]"
        return either


def _matchable(ranges: list[Range]) -> list[Range]:
    """Return the ranges without the characters that no class matches."""
    for hole in ((0x0A, 0x0A), (0x0D, 0x0D), (0xDC80, 0xDCFF)):
        parts: list[Range] = []
        for low, high in ranges:
            outside = ((low, min(high, hole[0] - 1)), (max(low, hole[1] + 1), high))
            parts += [part for part in outside if part[0] <= part[1]]
        ranges = parts
    return ranges


def _written(low: int, high: int) -> str:
    first = f"\\U{low:08x}"
    return first if low == high else f"{first}-\\U{high:08x}"
