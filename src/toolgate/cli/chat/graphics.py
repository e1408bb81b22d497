"""Finds out whether the terminal shows pictures, and how.

The environment only tells which terminals are worth asking, because a terminal inside another one inherits its
variables. What counts is the name with which the terminal itself answers. Both requests are plain control sequences: a
terminal that does not know one ignores it. Multiplexers answer with their own name, and so get no pictures.
"""

from __future__ import annotations

import os
import re
import select
import termios
import time
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Literal

Graphics = Literal["kitty", "iterm2"]
"""A way to send pictures: kitty's graphics protocol, or the inline images of iTerm2."""

_PROTOCOLS: dict[str, Graphics] = {
    "kitty": "kitty", "ghostty": "kitty", "iterm2": "iterm2", "wezterm": "iterm2", "mintty": "iterm2"
}  # fmt: skip
"""Terminals by the name that they answer with."""
_TERMS = ("xterm-kitty", "xterm-ghostty")
_PROGRAMS = ("iTerm.app", "WezTerm", "ghostty", "mintty")
_INSIDE = ("TMUX", "STY", "ZELLIJ", "INSIDE_EMACS", "VIM_TERMINAL", "NVIM")
"""Variables of programs that are a terminal themselves and show no pictures."""
_QUESTION = b"\x1b[>q\x1b[c"
"""Requests for the terminal's name (XTVERSION) and for its kind (DA1). Every terminal answers the second one."""
_NAME = re.compile(rb"\x1bP>\|([A-Za-z0-9]+)[^\x1b\x07]*(?:\x1b\\|\x07)")
_KIND = re.compile(rb"\x1b\[\?[0-9;]*c")
_SECONDS = 1.0
_MAX_BYTES = 1 << 16


@dataclass(frozen=True, slots=True)
class TerminalAnswer:
    """The answer of the terminal to both requests."""

    graphics: Graphics | None = None
    typed: bytes = b""
    """What the person typed meanwhile."""


def is_candidate(environment: Mapping[str, str]) -> bool:
    """Whether the environment names a terminal that may show pictures."""
    if any(environment.get(name) for name in _INSIDE):
        return False
    term = environment.get("TERM", "")
    if term in ("", "dumb", "linux", "unknown") or term.startswith(("screen", "tmux", "eterm")):
        return False
    return (
        term in _TERMS
        or environment.get("TERM_PROGRAM") in _PROGRAMS
        or environment.get("LC_TERMINAL") == "iTerm2"
        or "KITTY_WINDOW_ID" in environment
    )


def ask_terminal(source: int, out: int, environment: Mapping[str, str] = os.environ) -> TerminalAnswer:
    """Ask the terminal of two descriptors what it is. Nothing is written unless both are one terminal that may know."""
    if not (os.isatty(source) and os.isatty(out)) or not is_candidate(environment):
        return TerminalAnswer()
    if os.fstat(source).st_rdev != os.fstat(out).st_rdev:
        return TerminalAnswer()
    before = termios.tcgetattr(source)
    quiet = termios.tcgetattr(source)
    quiet[3] &= ~(termios.ECHO | termios.ICANON)
    quiet[6][termios.VMIN], quiet[6][termios.VTIME] = 1, 0
    termios.tcsetattr(source, termios.TCSANOW, quiet)
    try:
        os.write(out, _QUESTION)
        return answer_in(_read(source))
    except OSError:  # the terminal was closed
        return TerminalAnswer()
    finally:
        termios.tcsetattr(source, termios.TCSANOW, before)


def _read(source: int) -> bytes:
    read = b""
    end = time.monotonic() + _SECONDS
    while not _KIND.search(read) and len(read) < _MAX_BYTES:
        ready, _, _ = select.select([source], [], [], max(end - time.monotonic(), 0))
        chunk = os.read(source, 4096) if ready else b""
        if not chunk:
            break
        read += chunk
    return read


def answer_in(read: bytes) -> TerminalAnswer:
    """Find the answer in what was read; the rest was typed."""
    name = _NAME.search(read)
    graphics = _PROTOCOLS.get(name[1].decode().lower()) if name else None
    return TerminalAnswer(graphics, _KIND.sub(b"", _NAME.sub(b"", read)))
