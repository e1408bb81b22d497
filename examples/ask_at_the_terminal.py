"""Ask the person at the terminal before a file is written: python examples/ask_at_the_terminal.py [DIRECTORY]."""

import asyncio
import sys

import toolgate
from toolgate import TerminalApprover


async def main(root: str) -> None:
    """Write a file if the person says yes. Without a terminal the answer is no."""
    async with toolgate.open(root, "coding", approver=TerminalApprover()) as toolset:
        result = await toolset.call("write_file", path="hello.txt", content="Hello.\n")
    print("written" if result.error_code is None else result.message)


if __name__ == "__main__":
    asyncio.run(main(sys.argv[1] if len(sys.argv) > 1 else "."))
