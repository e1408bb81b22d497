"""A tool call, its denial, a question and a truncation, on a small project that is thrown away afterwards."""

import asyncio
import json
import sys
import tempfile
import textwrap
from pathlib import Path

import toolgate
from toolgate import Approval, ApprovalRequest, ToolCall, ToolMode, ToolResult
from toolgate.cli.style import Style
from toolgate.cli.visible import excerpt, visible
from toolgate.settings import Settings

paint = Style(sys.stdout)
_COLOURS = {"success": "green", "partial": "yellow", "error": "red"}


class Shown:
    """An approver that shows the question and says yes, as a person would at the terminal."""

    async def decide(self, request: ApprovalRequest) -> Approval:
        """Show, then allow."""
        print(paint(f"  asks   {visible(request.summary, keep='')}", "yellow"))
        for line in request.detail.splitlines():
            colour = {"+": "green", "-": "red"}.get(line[:1], "dim")
            print("         " + paint(visible(line), colour))
        print(paint("  person y", "yellow"))
        return Approval(allowed=True)


async def step(title: str, toolset: toolgate.CallableToolset, name: str, arguments: str) -> ToolResult:
    """One call, as the model wrote it, and what the model reads."""
    print(f"\n{paint(title, 'bold')}")
    print(f"  {paint('model', 'cyan')}  {name}({visible(arguments)})")
    result = await toolset.handle(ToolCall(id="demo", name=name, arguments=arguments))
    response = result.response
    status = response.status.value + (f" {response.error.code}" if response.error else "")
    print(f"  {paint(status, _COLOURS[response.status.value])}")
    shown, _ = excerpt(visible(result.output), lines=8, width=400)
    for line in shown.splitlines():
        for part in textwrap.wrap(line, 110, drop_whitespace=False, replace_whitespace=False) or [""]:
            print(f"  {paint('│', 'dim')} {part}")
    return result


def project(root: Path) -> None:
    """Something to work on."""
    (root / "src").mkdir()
    (root / "src" / "app.py").write_text("def greet(name):\n    return 'Hello ' + name  # TODO: an f-string\n")
    (root / "server.log").write_text("".join(f"{number:06} GET /item/{number % 97} 200\n" for number in range(5234)))


EDIT = {
    "path": "src/app.py",
    "old_string": "'Hello ' + name  # TODO: an f-string",
    "new_string": "f'Hello {name}'",
}


async def main() -> None:
    """Five calls."""
    settings = Settings.defaults()
    with tempfile.TemporaryDirectory(prefix="toolgate-demo-") as directory:
        root = Path(directory)
        project(root)
        print(paint("Toolgate", "bold") + ": what a model may see, what may run, and one envelope to answer in.")
        async with toolgate.open(root, mode=ToolMode.coding, approver=Shown(), settings=settings) as toolset:
            await step("1. A tool call", toolset, "grep", '{"pattern": "TODO"}')
            await step(
                "2. A change: it is planned first, and a person is asked", toolset, "edit_file", json.dumps(EDIT)
            )
            await step("3. A path out of the project: denied", toolset, "read_file", '{"path": "../../etc/passwd"}')
        async with toolgate.open(root, mode=ToolMode.chat_safe, settings=settings) as toolset:
            await step(
                "4. A tool that this session's mode does not have: denied",
                toolset,
                "read_file",
                '{"path": "src/app.py"}',
            )
        async with toolgate.open(root, mode=ToolMode.coding, settings=settings) as toolset:
            await step(
                "5. More output than a model should read: cut, counted, and kept",
                toolset,
                "grep",
                '{"pattern": "GET", "limit": 100000}',
            )
            kept = sorted(path.relative_to(root) for path in (root / "tool-output").glob("*.json"))
            print(f"  kept   {', '.join(map(str, kept))}")


if __name__ == "__main__":
    asyncio.run(main())
