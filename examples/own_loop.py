"""A loop of one's own in the format of OpenAI's chat API: python examples/own_loop.py [DIRECTORY].

`answer` stands for the request to a provider: it gets messages and tools, and returns an assistant message.
"""

import asyncio
import sys
from typing import Any

import toolgate
from toolgate.adapters import openai_chat

Message = dict[str, Any]


async def answer(messages: list[Message], tools: list[Message]) -> Message:
    """A provider's answer: first a call, then a text."""
    if messages[-1]["role"] == "user":
        call = {"name": "grep", "arguments": '{"pattern": "import", "limit": 1}'}
        return {"role": "assistant", "content": None, "tool_calls": [{"id": "1", "type": "function", "function": call}]}
    return {"role": "assistant", "content": f"{len(tools)} tools are there, and the first import was found."}


async def main(root: str) -> None:
    """Ask until there are no more calls."""
    async with toolgate.open(root, "coding", only=["grep", "read_file"]) as toolset:
        messages: list[Message] = [{"role": "user", "content": "Find an import."}]
        while True:
            message = await answer(messages, openai_chat.to_tools(toolset.tools))
            messages.append(message)
            calls = openai_chat.from_calls(message)
            if not calls:
                break
            messages += openai_chat.to_results(await toolset.handle_all(calls))
        print(messages[-1]["content"])


if __name__ == "__main__":
    asyncio.run(main(sys.argv[1] if len(sys.argv) > 1 else "."))
