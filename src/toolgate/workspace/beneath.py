"""Opens entries of an open directory, without following links or waiting for a pipe."""

import os
from functools import partial

scan_directory = os.scandir
"""The entries of an open directory."""
open_directory = partial(os.open, flags=os.O_RDONLY | os.O_DIRECTORY | os.O_NOFOLLOW | os.O_CLOEXEC)
"""`open_directory(name, dir_fd=parent)`: a descriptor of a directory."""
open_file = partial(os.open, flags=os.O_RDONLY | os.O_NOFOLLOW | os.O_NONBLOCK | os.O_NOCTTY | os.O_CLOEXEC)
"""`open_file(name, dir_fd=parent)`: a descriptor of a file."""
