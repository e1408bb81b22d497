"""Runtime: the path of every call, from the model's JSON to its result.

Lives here: registry, gates, policy, permission, execution, truncation and records of calls.
May touch: tools through their declarations, files through `workspace/`; it starts no process.
Start reading: `pipeline.py`, then `invocation.py`.
"""
