"""`toolgate sh`: a person uses the agent's shell, through the same gates as a model.

Lives here: reading lines, the commands with a colon, and showing what a command prints.
May touch: the terminal; it calls tools through a toolset.
Start reading: `command.py`, then `calls.py` and `screen.py`.
"""
