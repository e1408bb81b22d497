"""Call a built-in tool on a project: python examples/call_a_tool.py [DIRECTORY]."""

import asyncio
import sys

import toolgate


async def main(root: str) -> None:
    """Search a project, and see what an error looks like."""
    async with toolgate.open(root, "coding") as toolset:
        found = await toolset.call("grep", pattern="def ", include="*.py", limit=3)
        print(found.output)

        missing = await toolset.call("read_file", path="no/such/file.py")
        print(missing.error_code, "-", missing.message)


if __name__ == "__main__":
    asyncio.run(main(sys.argv[1] if len(sys.argv) > 1 else "."))
