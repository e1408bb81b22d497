"""Processes: the only room that starts one.

Lives here: which program is started, with which environment, how its output is read, how it ends with its children.
May touch: processes and `/proc`. What confines a process is in `sandbox/`.
Start reading: `executables.py`, then `read_only.py`, which starts a process that can only read.
"""
