"""Processes: the only room that starts one.

Lives here: which program is started and with which environment, how its output is read, how its children end.
May touch: processes and `/proc`. `sandbox/` confines them.
Start reading: `executables.py`, then `read_only.py`, which starts a process that can only read.
"""
