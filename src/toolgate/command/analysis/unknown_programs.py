"""Programs that the analysis does not know: their words may be commands that they run."""

import posixpath
import re
from collections.abc import Sequence

from toolgate.command.analysis.options import option_values
from toolgate.command.analysis.scope import Scope
from toolgate.command.words import Word

DANGEROUS = frozenset(
    """
    rm rmdir unlink shred srm rimraf truncate dropdb pkill killall ssh scp sftp sudo doas pkexec runuser mkfs
    shutdown reboot poweroff halt systemctl
    """.split()
)
"""Words that are dangerous as a command and have no other common meaning."""
_SEPARATORS = re.compile(r"[\s;|&()<>`'\"={},]+")
_WRITES = frozenset({"-o", "--output", "--out", "--outfile", "--output-file"})
"""Common names of options whose value is a file to write."""
_MAX_WORDS = 256
"""Words of one program that are compared with rules."""


def suspect(scope: Scope, words: Sequence[Word]) -> None:
    """Note the words of a program that is not known, and ask if one of them is dangerous as a command."""
    pieces = _pieces(words[1:])
    if not pieces:
        return
    name = words[0].text
    if len(pieces) > _MAX_WORDS and any(piece in DANGEROUS for piece in pieces[_MAX_WORDS:]):
        scope.findings.add_danger(f"'{name}' is not a known program, and has too many words to look at")
    scope.findings.suspects[(name, *pieces[:_MAX_WORDS])] = None
    dangerous = next((piece for piece in pieces[:_MAX_WORDS] if piece in DANGEROUS), None)
    if dangerous is not None:
        scope.findings.add_danger(f"'{name}' is not a known program, and may run '{dangerous}'", sure=False)


def _pieces(words: Sequence[Word]) -> list[str]:
    """Split the words into pieces that may be commands. A program that is named by its path counts by its name."""
    pieces = [piece for word in words for piece in _SEPARATORS.split(word.text) if piece]
    return [posixpath.basename(piece) if piece.startswith("/") else piece for piece in pieces]


def writes_of_unknown(scope: Scope, words: Sequence[Word]) -> None:
    """Note files that exist and that common options name as output."""
    for target in option_values(words, _WRITES):
        if any(scope.surroundings.kind(path) == "file" for path in scope.locate(target.text).paths):
            scope.note_write(target)
