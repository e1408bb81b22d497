"""`toolgate chat`: the chat at a terminal, through a pipe, or with `--print` for one answer.

It may use the terminal, and it runs turns through the stack that `compose.py` builds.
Start reading in `command.py`, then `terminal.py` (the loop) and `turn_view.py` (what a turn looks like).
"""
