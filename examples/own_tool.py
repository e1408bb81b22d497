"""A tool of one's own beside the built-in ones: python examples/own_tool.py [DIRECTORY]."""

import asyncio
import sys
from typing import Annotated

from pydantic import Field

import toolgate
from toolgate import ToolContext, tool


@tool(modes=["coding"], read_only=True)
async def count_lines(
    path: Annotated[str, Field(description="a text file of the project")], context: ToolContext
) -> dict[str, int]:
    """Count the lines and the words of a text file."""
    text = context.require_workspace().read_text(path)
    return {"lines": len(text.splitlines()), "words": len(text.split())}


TOOLS = [count_lines]
"""For the commands: toolgate chat --coding --tools own_tool:TOOLS (with PYTHONPATH=examples)."""


async def main(root: str) -> None:
    """Show the schema that a model gets, and make a call."""
    async with toolgate.open(root, "coding", tools=TOOLS, only=["count_lines", "read_file"]) as toolset:
        print([definition.name for definition in toolset.tools])
        print((await toolset.call("count_lines", path="README.md")).response.data)
        print((await toolset.call("count_lines", path="../outside.txt")).error_code)


if __name__ == "__main__":
    asyncio.run(main(sys.argv[1] if len(sys.argv) > 1 else "."))
