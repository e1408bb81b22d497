"""The confined project root: the only room that opens files."""

from toolgate.workspace.root import OpenedFile, Workspace
from toolgate.workspace.threads import Stop, Stopped, in_thread

__all__ = ["OpenedFile", "Stop", "Stopped", "Workspace", "in_thread"]
