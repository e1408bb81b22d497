"""What git would run: its configuration, its index, and repositories below the root.

Lives here: which files of a repository are pinned before a command, watched while it runs, and checked after it.
May touch: the repository below the root, by descriptors.
Start reading: `repository.py`, then `watch.py` and `planted_files.py`.
"""
