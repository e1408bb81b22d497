"""Reads what a program writes to a terminal, and draws it on a `Screen`: the sequences of xterm that programs use."""

from __future__ import annotations

import codecs
import re
from collections.abc import Callable

from toolgate.shell.screen import Screen

_MAX_PENDING = 4096
"""Characters of a sequence that has no end yet. Longer ones are dropped."""
_TOKENS = re.compile(
    r"""
    (?P<text>[^\x00-\x1f\x7f\x80-\x9f]+)
    | (?P<csi>\x1b\[[0-?]*[ -/]*[@-~])
    | (?P<string>\x1b[\]PX^_][^\x07\x1b]*(?:\x07|\x1b\\|(?=\x1b[^\\])))
    | (?P<escape>\x1b[ -/]+[0-~] | \x1b[0-Z\\`-~])
    | (?P<broken>\x1b[^\x1b\[\]PX^_]? | \x1b\[[0-?]*[ -/]*[^\x20-\x7e] )
    | (?P<control>[\x00-\x1a\x1c-\x1f\x7f\x80-\x9f])
    """,
    re.VERBOSE,
)
_UNFINISHED = re.compile(r"\x1b(?:\[[0-?]*[ -/]*|[\]PX^_][^\x07\x1b]*\x1b?|[ -/]*)?\Z")
_DRAWING = dict(zip("`afgjklmnopqrstuvwxyz{|}~", "◆▒°±┘┐┌└┼⎺⎻─⎼⎽├┤┴┬│≤≥π≠£·", strict=True))
"""The line drawing characters of the VT100."""
_MAX_REPEATED = 4096


class ScreenParser:
    """Feeds a screen. `reply` gets the answers that a terminal gives to a program that asks where the cursor is."""

    def __init__(self, screen: Screen, reply: Callable[[bytes], None] | None = None) -> None:
        self.screen = screen
        self._reply = reply or (lambda _: None)
        self._decoder = codecs.getincrementaldecoder("utf-8")("replace")
        self._pending = ""
        self._drawing = [False, False]
        """Whether the character sets G0 and G1 draw lines."""
        self._set = 0
        self._last = " "

    def feed(self, data: bytes) -> None:
        """Draw what a program wrote. A sequence may be cut anywhere."""
        text = self._pending + self._decoder.decode(data)
        self._pending = ""
        if text.isprintable():  # as most keys are answered
            if text:
                self._print(text)
            return
        unfinished = _UNFINISHED.search(text, max(len(text) - _MAX_PENDING, 0))
        if unfinished is not None:
            self._pending, text = unfinished.group(), text[: unfinished.start()]
        for token in _TOKENS.finditer(text):
            kind, value = token.lastgroup, token.group()
            if kind == "text":
                self._print(value)
            elif kind == "control":
                self._control(value)
            elif kind == "csi":
                self._csi(value)
            elif kind == "escape":
                self._escape(value)

    def _print(self, text: str) -> None:
        if self._drawing[self._set]:
            text = "".join(_DRAWING.get(character, character) for character in text)
        self.screen.write(text)
        self._last = text[-1]

    def _control(self, character: str) -> None:
        screen = self.screen
        if character == "\r":
            screen.move(screen.row, 0)
        elif character in "\n\x0b\x0c":
            screen.index()
        elif character == "\b":
            screen.move(screen.row, screen.column - 1)
        elif character == "\t":
            screen.tab()
        elif character in "\x0e\x0f":
            self._set = 1 if character == "\x0e" else 0

    def _escape(self, sequence: str) -> None:
        screen, code = self.screen, sequence[1:]
        if code[0] in "()" and len(code) > 1:
            self._drawing[0 if code[0] == "(" else 1] = code[1] == "0"
        elif code == "c":
            screen.reset()
            self._drawing, self._set = [False, False], 0
        elif code == "E":
            screen.move(screen.row, 0)
            screen.index()
        else:
            simple = {
                "7": screen.save_cursor,
                "8": screen.restore_cursor,
                "D": screen.index,
                "M": screen.reverse_index,
            }.get(code)
            if simple is not None:
                simple()

    def _csi(self, sequence: str) -> None:
        final, body = sequence[-1], sequence[2:-1]
        private = body[:1] if body[:1] in ("?", ">", "=", "<") else ""
        numbers = _numbers(body[len(private) :])
        if numbers is None:
            return
        if final in "hl":
            self._modes(private, numbers, on=final == "h")
        elif final in "nc":
            self._report(private, final, numbers)
        elif not private:
            self._draw(final, numbers)

    def _draw(self, final: str, numbers: list[int]) -> None:
        screen = self.screen
        first = numbers[0] if numbers else 0
        second = numbers[1] if len(numbers) > 1 else 0
        count = max(first, 1)
        if final in "ABCDEFGHdfa`e":
            self._move(final, count, max(second, 1))
        elif final in "JK":
            (screen.erase_in_display if final == "J" else screen.erase_in_line)(first)
        elif final == "r":
            screen.set_region(count - 1, (second or screen.rows) - 1)
        elif final == "b":
            self._print(self._last * min(count, _MAX_REPEATED))
        elif final == "u":
            screen.restore_cursor()
        elif final == "s":
            screen.save_cursor()
        else:
            edit = {
                "@": screen.insert_characters,
                "L": screen.insert_lines,
                "M": screen.delete_lines,
                "P": screen.delete_characters,
                "S": screen.scroll_up,
                "T": screen.scroll_down,
                "X": screen.erase_characters,
                "Z": screen.back_tab,
            }.get(final)
            if edit is not None:
                edit(count)

    def _move(self, final: str, count: int, second: int) -> None:
        screen = self.screen
        if final in "AF":
            screen.up(count)
        elif final in "BEe":
            screen.down(count)
        elif final in "CaD":
            screen.move(screen.row, screen.column + (-count if final == "D" else count))
        elif final in "G`":
            screen.move(screen.row, count - 1)
        elif final in "Hf":
            screen.move_in_region(count - 1, second - 1)
        elif final == "d":
            screen.move_in_region(count - 1, screen.column)
        if final in "EF":
            screen.move(screen.row, 0)

    def _modes(self, private: str, numbers: list[int], *, on: bool) -> None:
        screen = self.screen
        for number in numbers:
            match (private, number):
                case ("", 4):
                    screen.insert = on
                case ("?", 1):
                    screen.application_keys = on
                case ("?", 6):
                    screen.origin = on
                    screen.move_in_region(0, 0)
                case ("?", 7):
                    screen.autowrap = on
                case ("?", 25):
                    screen.cursor_visible = on
                case ("?", 47 | 1047):
                    screen.show_alternate(shown=on)
                case ("?", 1048):
                    screen.save_cursor() if on else screen.restore_cursor()
                case ("?", 1049):
                    screen.show_alternate(shown=on)

    def _report(self, private: str, final: str, numbers: list[int]) -> None:
        """Answer as a terminal does: programs wait for it."""
        asked = numbers[0] if numbers else 0
        if final == "c" and asked == 0:
            self._reply({"": b"\x1b[?6c", ">": b"\x1b[>0;0;0c"}.get(private, b""))
        elif final == "n" and private == "" and asked == 5:
            self._reply(b"\x1b[0n")
        elif final == "n" and private in ("", "?") and asked == 6:
            self._reply(b"\x1b[%s%d;%dR" % (private.encode(), self.screen.row + 1, self.screen.column + 1))


def _numbers(text: str) -> list[int] | None:
    """The numbers of a sequence; None if it is none that a screen understands."""
    if text.endswith(("!", '"', "$", "'", " ", "*")):
        return None
    found = [part.partition(":")[0] for part in text.split(";")] if text else []
    if not all(part.isdecimal() or not part for part in found):
        return None
    return [min(int(part[:6]), 10_000) if part else 0 for part in found]
