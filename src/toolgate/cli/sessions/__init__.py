"""`toolgate sessions`: list, show, export, rename and prune sessions. Start reading with `command.py`."""
