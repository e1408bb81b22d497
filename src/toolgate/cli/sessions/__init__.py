"""`toolgate sessions`: list, show, export, rename and prune sessions.

Lives here: one module per subcommand.
May touch: the sessions' database, through `sessions/`, and the terminal.
Start reading: `command.py`.
"""
