"""Sub-agents that run while their parent goes on, and end with its turn at the latest."""

from __future__ import annotations

import asyncio
from collections.abc import Coroutine
from typing import Any


class BackgroundTasks:
    """The running and ended sub-agents of one turn, by the id of their task."""

    def __init__(self) -> None:
        self._tasks: dict[str, asyncio.Task[dict[str, Any]]] = {}
        self._reported: set[str] = set()

    def start(self, run: Coroutine[Any, Any, dict[str, Any]]) -> asyncio.Task[dict[str, Any]]:
        """Start one. `keep` it as soon as its id is known."""
        return asyncio.get_running_loop().create_task(run)

    def keep(self, task_id: str, task: asyncio.Task[dict[str, Any]]) -> None:
        """Keep a task under its id. One that is resumed replaces the earlier one."""
        self._tasks[task_id] = task
        self._reported.discard(task_id)

    def get(self, task_id: str) -> asyncio.Task[dict[str, Any]] | None:
        """The task with this id; None if this turn has not started it in the background."""
        return self._tasks.get(task_id)

    def mark_reported(self, task_id: str) -> None:
        """Note that the model has been told that a task has ended."""
        self._reported.add(task_id)

    def ended(self) -> list[str]:
        """The tasks that have ended and were not reported to the model yet."""
        return [name for name, task in self._tasks.items() if task.done() and name not in self._reported]

    @property
    def running(self) -> bool:
        """Whether a task still runs."""
        return any(not task.done() for task in self._tasks.values())

    async def wait(self) -> None:
        """Wait until a task ends."""
        running = [task for task in self._tasks.values() if not task.done()]
        if running:
            await asyncio.wait(running, return_when=asyncio.FIRST_COMPLETED)

    async def close(self) -> None:
        """End all tasks, because the turn ends."""
        for task in self._tasks.values():
            task.cancel()
        if self._tasks:
            await asyncio.wait(self._tasks.values())
        for task in self._tasks.values():
            if not task.cancelled():
                task.exception()  # nobody waits for its answer any more
