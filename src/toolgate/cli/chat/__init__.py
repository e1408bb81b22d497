"""`toolgate chat`: the terminal chat. Start reading with `command.py`, then `terminal.py`."""
