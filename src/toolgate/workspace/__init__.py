"""The project root: opening, reading, writing and editing files, the journal and undo.

Lives here: everything that touches a file of the project.
May touch: files; this is the only room that opens one of the project's.
Start reading: `root.py` (`Workspace`), then `confine.py`, which keeps every path inside the root.
"""

from toolgate.workspace.root import OpenedFile, Workspace
from toolgate.workspace.threads import Stop, Stopped, in_thread

__all__ = ["OpenedFile", "Stop", "Stopped", "Workspace", "in_thread"]
