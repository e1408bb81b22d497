"""Opens entries of an open directory, without following links or waiting for a pipe."""

import os
from functools import partial

from toolgate.system import O_CLOEXEC, O_DIRECTORY, O_NOCTTY, O_NOFOLLOW, O_NONBLOCK

scan_directory = os.scandir
"""The entries of an open directory."""
open_directory = partial(os.open, flags=os.O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC)
"""`open_directory(name, dir_fd=parent)`: a descriptor of a directory."""
open_file = partial(os.open, flags=os.O_RDONLY | O_NOFOLLOW | O_NONBLOCK | O_NOCTTY | O_CLOEXEC)
"""`open_file(name, dir_fd=parent)`: a descriptor of a file."""
