"""Files through the workspace, confined and journalled, and undo: python examples/write_and_undo.py [DIRECTORY]."""

import sys

from toolgate import ToolError, Workspace


def main(root: str) -> None:
    """Write, read, undo, and try to leave the project."""
    with Workspace(root) as workspace:
        workspace.write_text("notes/today.txt", "one\n")
        workspace.write_text("notes/today.txt", "two\n")
        print("written:", workspace.read_text("notes/today.txt").strip())
        workspace.journal.undo()
        print("undone:", workspace.read_text("notes/today.txt").strip())
        try:
            workspace.write_text("../outside.txt", "no")
        except ToolError as error:
            print("refused:", error.code)


if __name__ == "__main__":
    main(sys.argv[1] if len(sys.argv) > 1 else ".")
