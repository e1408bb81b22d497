"""Line ends of a file that is written as a whole: a line that stays keeps its own."""

from toolgate.workspace.diff import opcodes


def keep_line_ends(old: str, new: str) -> str:
    """Return the new text with the line ends of the old one; it has only `\\n` itself.

    A line that is in both texts keeps its end. A new line gets the end of the line before it, else of the one after it.
    """
    if "\r\n" not in old:
        return new
    before, after = old.split("\n"), new.split("\n")
    if all(line.endswith("\r") for line in before[:-1]):
        return new.replace("\n", "\r\n")
    ends = ["\r" if line.endswith("\r") else "" for line in before[:-1]]
    plain = [line.removesuffix("\r") for line in before[:-1]]
    made: list[str] = []
    position = 0
    for first, last, start, end in [*opcodes(plain, after[:-1]), (len(plain), len(plain), len(after) - 1, None)]:
        made += ends[position:first]
        replaced = ends[first:last]
        fallback = (replaced[-1:] or made[-1:] or ends[:1] or [""])[0]
        count = 0 if end is None else end - start
        made += (replaced + [fallback] * count)[:count]
        position = last
    return "\n".join([*map("".join, zip(after[:-1], made, strict=True)), after[-1]])
