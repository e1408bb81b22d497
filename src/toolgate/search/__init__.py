"""Search: `grep`, `glob` and `ls` with ripgrep, and the same results without it.

Lives here: the two engines, ignore rules, glob patterns, file types, the walk over a directory tree.
May touch: directories that the workspace has opened, and processes through `process/`.
Start reading: `grep_search.py`, one search from its arguments to its outcome.
"""
