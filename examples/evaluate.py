"""Evaluate tasks in fresh copies of a project: python examples/evaluate.py [DIRECTORY], else of `examples/shop`.

`toolgate eval DIR` does the same with tasks as TOML files, a table and reports.
"""

import asyncio
import sys
from pathlib import Path

from toolgate.evaluation import Check, Evaluation, RunResult, Task, TaskCall


def told(result: RunResult) -> None:
    """Print each run as it ends."""
    print(f"{result.task}, run {result.run}: {'passed' if result.passed else 'failed'}")


async def main(root: Path) -> None:
    """Run one task three times, two at the same time."""
    task = Task(
        name="greeting",
        workspace=root,
        call=(TaskCall(tool="write_file", arguments={"path": "hello.txt", "content": "Hello.\n"}),),
        check=(Check(command="grep -q Hello hello.txt"), Check(file="hello.txt", equals="Hello.\n")),
    )
    report = await Evaluation([task], repeat=3, parallel=2, on_result=told).run()
    print(report.to_markdown())


if __name__ == "__main__":
    asyncio.run(main(Path(sys.argv[1]) if len(sys.argv) > 1 else Path(__file__).parent / "shop"))
