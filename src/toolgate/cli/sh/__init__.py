"""`toolgate sh`: a person uses the agent's shell, through the same gates as a model.

It may use the terminal and call tools through a toolset.
Start reading in `command.py`, then `calls.py` and `screen.py`.
"""
