"""Files that are not UTF-8: found by their bytes, and decoded so that other characters than ASCII are found in them."""

import os
import re

from toolgate.errors import ToolError
from toolgate.process.read_only import memory_file
from toolgate.search.regex_dialect import Translation
from toolgate.workspace.encoding import decode_text

MAX_FILES = 200
"""Most files of one search that are decoded."""
MAX_BYTES = 16 << 20
"""Bytes of the largest file that is decoded."""
_NEXT = r"[\x80-\xbf]"
_OTHER_BYTES = (
    rf"(?:^|[\x00-\x7f]){_NEXT}",
    r"[\xc0\xc1\xf5-\xff]",
    rf"[\xc2-\xdf](?:[^\x80-\xbf]|$|{_NEXT}{{2}})",
    rf"[\xe0-\xef](?:{_NEXT}?(?:[^\x80-\xbf]|$)|{_NEXT}{{3}})",
    rf"[\xf0-\xf4](?:{_NEXT}{{0,2}}(?:[^\x80-\xbf]|$)|{_NEXT}{{4}})",
    r"\xe0[\x80-\x9f]|\xed[\xa0-\xbf]|\xf0[\x80-\x8f]|\xf4[\x90-\xbf]",
)
NOT_UTF8 = f"(?-u:{'|'.join(_OTHER_BYTES)})"
"""Bytes that are not UTF-8, as ripgrep searches for them."""
NOT_UTF8_IN_PYTHON = Translation("[\udc80-\udcff]", "")
"""The same for the search in Python, which decodes them to lone surrogates."""
_ESCAPED = re.compile(r"\\[xuUpP]")


def has_other_characters(pattern: str) -> bool:
    """Whether a pattern names other characters than ASCII: then a file that is not UTF-8 has to be decoded."""
    return not pattern.isascii() or _ESCAPED.search(pattern) is not None


def decoded_copy(fd: int, path: str) -> tuple[str, int] | None:
    """Return the probable encoding of an open file, and an in-memory file with its text as UTF-8.

    The caller closes that. None if the file is UTF-8 or marked, is not text, or is too large.
    """
    if os.fstat(fd).st_size > MAX_BYTES:
        return None
    content = b""
    while piece := os.pread(fd, MAX_BYTES + 1 - len(content), len(content)):
        content += piece
    try:
        encoding, text = decode_text(content, path)
    except ToolError:
        return None
    return (encoding.name, memory_file(text.encode())) if encoding.is_guess else None
