"""`toolgate sessions`: list, show, export, rename and prune sessions.

It may read and change the sessions' database, through `sessions/`, and print to the terminal.
Start reading in `command.py`; each subcommand has its own module.
"""
