"""Evaluation: runs tasks in fresh copies of their workspaces, checks what came out, and reports it.

Lives here: the format of a task, the runner and the reports. The command is `cli/eval.py`.
May touch: task files and copies of workspaces through `workspace/`; models and tools through `compose.py`.
Start reading: `task.py`, then `runner.py`.
"""

from toolgate.evaluation.report import Report, RunResult
from toolgate.evaluation.runner import Evaluation
from toolgate.evaluation.task import Check, Task, TaskCall, load_tasks

__all__ = ["Check", "Evaluation", "Report", "RunResult", "Task", "TaskCall", "load_tasks"]
