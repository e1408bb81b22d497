"""Diagnostics: what checkers say about a file after it was edited, and what is new in it.

Lives here: the checkers that are known, what their output means, and running them in a sandbox of their own.
May touch: a shell session with `read` access, and programs that lie outside the root.
Start reading: `diagnostics.py`, then `checkers.py` and `problems.py`.
"""
