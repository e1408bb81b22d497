"""`toolgate sh`: a person sits in the agent's shell. Start reading with `command.py`."""
