"""Run the tasks of a directory against a model or as plain calls, each in a fresh copy of its workspace, and report.

A task is NAME.toml or NAME/task.toml: a workspace, a message or calls, and checks. Exit code: 0 if every run passed, 1
if one did not, 2 if a task or the command line is wrong; then nothing runs.
"""

from __future__ import annotations

import argparse
import asyncio
import contextlib
import itertools
import sys
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import TYPE_CHECKING

from toolgate.cli.errors import UsageError
from toolgate.cli.parser import add_model, add_tools, own_tools
from toolgate.cli.style import Style, columns
from toolgate.cli.visible import visible
from toolgate.language.translate import translate

if TYPE_CHECKING:
    from toolgate.evaluation import Report, RunResult, Task
    from toolgate.models import ModelClient
    from toolgate.settings import Settings


def configure(parser: argparse.ArgumentParser) -> None:
    """Add the command's arguments."""
    parser.add_argument("directory", type=Path, metavar="DIR", help=translate("the directory with the tasks"))
    parser.add_argument(
        "--only", action="append", default=[], metavar="NAME", help=translate("only this task; may be repeated")
    )
    parser.add_argument(
        "--repeat", type=int, default=1, metavar="N", help=translate("how many times each task runs (default: 1)")
    )
    parser.add_argument(
        "--parallel", type=int, default=2, metavar="N", help=translate("runs at the same time (default: 2)")
    )
    add_model(parser)
    add_tools(parser)
    parser.add_argument(
        "--json", type=Path, metavar="FILE", help=translate("write all results to this file; - is stdout")
    )
    parser.add_argument("--report", type=Path, metavar="FILE", help=translate("write a Markdown report to this file"))


def run(args: argparse.Namespace) -> int:
    """Run the tasks and show the table."""
    from toolgate.evaluation import Evaluation, load_tasks
    from toolgate.settings import Settings

    tasks = _chosen(load_tasks(args.directory), args.only)
    settings = Settings.load()
    settings, model = _model(settings, tasks, args.model)
    with _progress(len(tasks) * max(args.repeat, 0)) as show_result:
        try:
            evaluation = Evaluation(
                tasks,
                model=model,
                settings=settings,
                tools=own_tools(args),
                repeat=args.repeat,
                parallel=args.parallel,
                on_result=show_result,
            )
        except ValueError as error:
            raise UsageError(str(error)) from None
        report = asyncio.run(evaluation.run())
    _write(report, args)
    return 0 if report.passed else 1


def _chosen(tasks: list[Task], only: list[str]) -> list[Task]:
    known = [task.name for task in tasks]
    for name in only:
        if name not in known:
            raise UsageError(
                translate(
                    "--only {name}: there is no such task; there are: {known}", name=repr(name), known=", ".join(known)
                )
            )
    return [task for task in tasks if not only or task.name in only]


def _model(
    settings: Settings, tasks: list[Task], name: str | None
) -> tuple[Settings, Callable[[], ModelClient] | None]:
    """The settings with the model, and a factory for its client; None if no task needs a model."""
    if all(task.message is None for task in tasks):
        return settings, None
    from toolgate.compose import settings_with_model
    from toolgate.models import model_from_settings

    complete = settings_with_model(settings, name)
    if name is None and complete.model.provider == "offline":
        with_message = next(task.name for task in tasks if task.message is not None)
        raise UsageError(
            translate(
                "task {name} has a message and no model is configured: pass --model, or set one up with /model in "
                "toolgate chat",
                name=repr(with_message),
            )
        )
    return complete, lambda: model_from_settings(complete.model)


@contextlib.contextmanager
def _progress(total: int) -> Iterator[Callable[[RunResult], None]]:
    """Show a bar at a terminal with rich, else one line per run on stderr."""
    import importlib.util

    if not sys.stderr.isatty() or importlib.util.find_spec("rich") is None:
        yield _lines(total)
        return
    from rich.console import Console
    from rich.progress import BarColumn, MofNCompleteColumn, Progress, TextColumn, TimeElapsedColumn

    shown = (TextColumn("{task.description}"), BarColumn(), MofNCompleteColumn(), TimeElapsedColumn())
    with Progress(*shown, console=Console(stderr=True)) as bars:
        bar, failed = bars.add_task("running", total=total), 0

        def advance(result: RunResult) -> None:
            nonlocal failed
            failed += not result.passed
            bars.update(bar, advance=1, description=f"running, {failed} failed")

        yield advance


def _lines(total: int) -> Callable[[RunResult], None]:
    """Return a function that writes one line about each run, with its number, to stderr."""
    numbers = itertools.count(1)

    def line(result: RunResult) -> None:
        end = "passed" if result.passed else "FAILED"
        name = visible(result.task, keep="")
        sys.stderr.write(f"{next(numbers)}/{total} {name} run {result.run}: {end} in {result.seconds:.1f} s\n")

    return line


def _write(report: Report, args: argparse.Namespace) -> None:
    from toolgate.userfiles import replace_file

    if args.report is not None:
        replace_file(args.report, report.to_markdown())
    if args.json is not None and str(args.json) == "-":
        sys.stdout.write(report.to_json())
        return
    if args.json is not None:
        replace_file(args.json, report.to_json())
    _table(report)


def _table(report: Report) -> None:
    from toolgate.evaluation.report import HEADINGS

    paint = Style(sys.stdout)
    rows = [[heading.upper() for heading in HEADINGS], *report.rows()]
    for number, row in enumerate(columns([[visible(cell, keep="") for cell in row] for row in rows])):
        sys.stdout.write("  ".join(paint(cell, "bold") if not number else cell for cell in row).rstrip() + "\n")
    for run in report.runs:
        for problem in run.problems():
            line = f"{run.task}, run {run.run}: {' '.join(problem.split())}"
            sys.stdout.write(paint(visible(line, keep=""), "red") + "\n")
