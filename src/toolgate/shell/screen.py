"""`Screen`: what a terminal shows after the bytes that a program wrote to it."""

from __future__ import annotations

import unicodedata
from collections import deque

_TAB = 8
_MAX_COMBINED = 8
"""Combining characters that one cell keeps."""
_HISTORY = 1000
"""Lines that are kept after they left the top of the screen."""
WIDE = ""
"""The second cell of a wide character."""


class Screen:
    """A grid of cells with a cursor. `ScreenParser` calls its methods; nothing here raises for any input.

    Rows and columns count from 0. Colours and other attributes are not kept.
    """

    def __init__(self, columns: int = 80, rows: int = 24) -> None:
        self.columns, self.rows = columns, rows
        self.history: deque[str] = deque(maxlen=_HISTORY)
        self.reset()

    def reset(self) -> None:
        """The state of a terminal that was just switched on."""
        self._cells = [self._blank() for _ in range(self.rows)]
        self._other: tuple[list[list[str]], tuple[int, int]] | None = None
        """The main screen and its cursor, while the alternate one is shown."""
        self.row = self.column = 0
        self._wraps = False
        """Whether the next character begins a new line, because the last one filled the line."""
        self.top, self.bottom = 0, self.rows - 1
        self._saved = (0, 0)
        self.autowrap, self.insert, self.origin = True, False, False
        self.application_keys = False
        """Whether the cursor keys send their application codes."""
        self.cursor_visible = True

    @property
    def lines(self) -> list[str]:
        """The lines from top to bottom, without blanks at their ends."""
        return ["".join(cells).rstrip() for cells in self._cells]

    @property
    def is_alternate(self) -> bool:
        """Whether a program shows its own full screen, as editors do."""
        return self._other is not None

    def text(self) -> str:
        """The screen as a person reads it, without the empty lines at its end."""
        return "\n".join(self.lines).rstrip("\n")

    def write(self, text: str) -> None:
        """Print characters at the cursor. Control characters are not among them."""
        if text.isascii() and not self.insert:
            self._write_plainly(text)
            return
        for character in text:
            width = _width(character)
            if width == 0:
                self._combine(character)
            else:
                self._put(character, width)

    def _write_plainly(self, text: str) -> None:
        """Print characters of one cell each, as many at a time as fit into the line."""
        while text:
            room = self.columns - 1 - self.column
            if room <= 0 or self._wraps:
                self._put(text[0], 1)
                text = text[1:]
                continue
            part, text = text[:room], text[room:]
            cells, end = self._cells[self.row], self.column + len(part)
            self._clear_halves(cells, self.column)
            self._clear_halves(cells, end - 1)
            cells[self.column : end] = part
            self.column = end

    def _put(self, character: str, width: int) -> None:
        if self._wraps or (width == 2 and self.column == self.columns - 1 and self.autowrap):
            self.column = 0
            self.index()
        self._wraps = False
        cells = self._cells[self.row]
        if self.insert:
            cells[self.column : self.column] = [" "] * width
            del cells[self.columns :]
        self._clear_halves(cells, self.column)
        cells[self.column] = character
        if width == 2 and self.column + 1 < self.columns:
            self._clear_halves(cells, self.column + 1)
            cells[self.column + 1] = WIDE
        self.column += width
        if self.column >= self.columns:
            self.column = self.columns - 1
            self._wraps = self.autowrap

    def _clear_halves(self, cells: list[str], column: int) -> None:
        """Blank the other half of a wide character that is about to lose this cell."""
        if cells[column] == WIDE and column:
            cells[column - 1] = " "
        if column + 1 < self.columns and cells[column + 1] == WIDE:
            cells[column + 1] = " "

    def _combine(self, mark: str) -> None:
        cells, column = self._cells[self.row], self.column - (0 if self._wraps else 1)
        while column > 0 and cells[column] == WIDE:
            column -= 1
        if column >= 0 and len(cells[column]) <= _MAX_COMBINED:
            cells[column] += mark

    def move(self, row: int, column: int) -> None:
        """Put the cursor somewhere on the screen."""
        self.row = min(max(row, 0), self.rows - 1)
        self.column = min(max(column, 0), self.columns - 1)
        self._wraps = False

    def move_in_region(self, row: int, column: int) -> None:
        """Put the cursor somewhere, counted from the top of the scrolling region in origin mode."""
        if self.origin:
            row = min(row + self.top, self.bottom)
        self.move(row, column)

    def up(self, count: int) -> None:
        """Move up; the top of the scrolling region stops a cursor that is inside."""
        self.move(max(self.row - count, self.top if self.row >= self.top else 0), self.column)

    def down(self, count: int) -> None:
        """Move down; the bottom of the scrolling region stops a cursor that is inside."""
        last = self.bottom if self.row <= self.bottom else self.rows - 1
        self.move(min(self.row + count, last), self.column)

    def tab(self) -> None:
        """Move to the next tab stop."""
        self.move(self.row, (self.column // _TAB + 1) * _TAB)

    def back_tab(self, count: int) -> None:
        """Move back to a tab stop."""
        for _ in range(min(count, self.columns)):
            self.move(self.row, (self.column - 1) // _TAB * _TAB)

    def index(self) -> None:
        """Move down one line, and scroll at the bottom."""
        if self.row == self.bottom:
            self.scroll_up(1)
        else:
            self.move(self.row + 1, self.column)
        self._wraps = False

    def reverse_index(self) -> None:
        """Move up one line, and scroll at the top."""
        if self.row == self.top:
            self.scroll_down(1)
        else:
            self.move(self.row - 1, self.column)

    def scroll_up(self, count: int, top: int | None = None) -> None:
        """Remove lines at the top of the scrolling region, and add blank ones at its bottom."""
        first = self.top if top is None else top
        for _ in range(min(count, self.bottom - first + 1)):
            gone = self._cells.pop(first)
            if first == 0 and top is None and not self.is_alternate:
                self.history.append("".join(gone).rstrip())
            self._cells.insert(self.bottom, self._blank())

    def scroll_down(self, count: int, top: int | None = None) -> None:
        """Add blank lines at the top of the scrolling region; those at its bottom are lost."""
        first = self.top if top is None else top
        for _ in range(min(count, self.bottom - first + 1)):
            del self._cells[self.bottom]
            self._cells.insert(first, self._blank())

    def insert_lines(self, count: int) -> None:
        """Insert blank lines at the cursor, inside the scrolling region."""
        if self.top <= self.row <= self.bottom:
            self.scroll_down(count, self.row)
            self.move(self.row, 0)

    def delete_lines(self, count: int) -> None:
        """Delete lines from the cursor on, inside the scrolling region."""
        if self.top <= self.row <= self.bottom:
            self.scroll_up(count, self.row)
            self.move(self.row, 0)

    def insert_characters(self, count: int) -> None:
        """Insert blanks at the cursor; what leaves the line is lost."""
        cells = self._cells[self.row]
        cells[self.column : self.column] = [" "] * min(count, self.columns)
        del cells[self.columns :]
        self._wraps = False

    def delete_characters(self, count: int) -> None:
        """Delete characters at the cursor; blanks come in at the end of the line."""
        cells = self._cells[self.row]
        del cells[self.column : self.column + count]
        cells += [" "] * (self.columns - len(cells))
        self._wraps = False

    def erase_characters(self, count: int) -> None:
        """Blank characters from the cursor on."""
        self._erase(self.row, self.column, self.column + count)

    def erase_in_line(self, how: int) -> None:
        """Blank the line: from the cursor on (0), up to the cursor (1), or all of it (2)."""
        begin = self.column if how == 0 else 0
        end = self.column + 1 if how == 1 else self.columns
        self._erase(self.row, begin, end)

    def erase_in_display(self, how: int) -> None:
        """Blank the screen: from the cursor on (0), up to the cursor (1), all of it (2), or the history (3)."""
        if how == 3:
            self.history.clear()
            return
        if how in (0, 1):
            self.erase_in_line(how)
        rows = {0: range(self.row + 1, self.rows), 1: range(self.row)}.get(how, range(self.rows))
        for row in rows:
            self._cells[row] = self._blank()

    def _erase(self, row: int, begin: int, end: int) -> None:
        cells = self._cells[row]
        for column in range(begin, min(end, self.columns)):
            cells[column] = " "
        self._wraps = False

    def set_region(self, top: int, bottom: int) -> None:
        """Set the lines that scroll. An invalid region is ignored."""
        if 0 <= top < bottom < self.rows:
            self.top, self.bottom = top, bottom
            self.move_in_region(0, 0)

    def save_cursor(self) -> None:
        """Remember where the cursor is."""
        self._saved = (self.row, self.column)

    def restore_cursor(self) -> None:
        """Put the cursor where it was saved."""
        self.move(*self._saved)

    def show_alternate(self, *, shown: bool) -> None:
        """Switch to the screen of full-screen programs, or back to the main one, which is as it was."""
        if shown and self._other is None:
            self._other = self._cells, (self.row, self.column)
            self._cells = [self._blank() for _ in range(self.rows)]
        elif not shown and self._other is not None:
            (self._cells, cursor), self._other = self._other, None
            self.move(*cursor)

    def resize(self, columns: int, rows: int) -> None:
        """Change the size. Lines are cut or filled up; the program is expected to draw again."""
        before, self.columns, self.rows = self.rows, columns, rows
        self._cells = self._resized(self._cells, self.row)
        if self._other is not None:
            self._other = self._resized(self._other[0], self._other[1][0]), self._other[1]
        self.top, self.bottom = 0, rows - 1
        self.move(self.row - max(self.row + 1 - rows, 0) if rows < before else self.row, self.column)

    def _resized(self, cells: list[list[str]], cursor: int) -> list[list[str]]:
        """The lines around the cursor in the new size. Those that leave at the top are dropped first."""
        kept = cells[max(cursor + 1 - self.rows, 0) :][: self.rows]
        kept = [[*line[: self.columns], *[" "] * (self.columns - len(line))] for line in kept]
        return kept + [self._blank() for _ in range(self.rows - len(kept))]

    def _blank(self) -> list[str]:
        return [" "] * self.columns


def _width(character: str) -> int:
    """How many cells a character takes: 0 if it is added to the one before."""
    if unicodedata.combining(character) or unicodedata.category(character) in ("Mn", "Me", "Cf", "Cc"):
        return 0
    return 2 if unicodedata.east_asian_width(character) in ("W", "F") else 1
