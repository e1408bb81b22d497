"""`python -m toolgate` is `toolgate`."""

import os
import sys

if __name__ == "__main__":
    if sys.path and sys.path[0] in ("", os.getcwd()):
        del sys.path[0]  # the project, in which a command could put a module that is imported later
    from toolgate.cli import main

    sys.exit(main())
