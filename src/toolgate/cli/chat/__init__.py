"""`toolgate chat`: the chat at a terminal, through a pipe, or with `--print` for one answer.

Lives here: the editor of a line, slash commands, approval prompts, and what a turn looks like.
May touch: the terminal; it runs turns through the stack that `compose.py` builds.
Start reading: `command.py`, then `terminal.py` (the loop) and `turn_view.py` (what a turn looks like).
"""
