"""Turns errors of a command into one clear line and an exit code, never a traceback."""

import os
import sys
from collections.abc import Callable
from typing import TYPE_CHECKING

from toolgate.language.translate import translate

if TYPE_CHECKING:
    from collections.abc import Coroutine, Iterable
    from typing import Any


class UsageError(Exception):
    """The command line is invalid; the message is the whole explanation."""


def open_standard_streams() -> None:
    """Replace closed standard streams with /dev/null.

    Otherwise the next opened file would get the number of a standard stream and be used as one.
    """
    for number, name, mode in ((0, "stdin", "r"), (1, "stdout", "w"), (2, "stderr", "w")):
        if getattr(sys, name) is None:
            flags = os.O_RDONLY if number == 0 else os.O_WRONLY
            opened = os.open(os.devnull, flags)  # noqa: TID251 - not a file of the project
            if opened != number:
                os.dup2(opened, number, inheritable=True)
                os.close(opened)
            os.set_inheritable(number, True)
            setattr(sys, name, os.fdopen(number, mode, closefd=False))


def run_command(command: str, run: Callable[[], int]) -> int:
    """Run a command; turn any exception into a line on stderr and an exit code."""
    for stream in (sys.stdout, sys.stderr):
        if hasattr(stream, "reconfigure"):  # an ASCII terminal shows characters that it lacks as \u2026
            stream.reconfigure(errors="backslashreplace")
    try:
        code = run()
        sys.stdout.flush()
    except UsageError as error:
        return _complain(command, [str(error)], 2)
    except KeyboardInterrupt:
        return _complain(command, [translate("interrupted")], 130)
    except BrokenPipeError:
        os._exit(1)  # the reader has closed the pipe; a normal exit would try to flush into it again
    except Exception as error:
        if sys.flags.dev_mode:
            raise
        return _explain(command, error)
    return code


def run_until_signalled(main: "Coroutine[Any, Any, int]") -> int:
    """Run a program's main coroutine. SIGTERM and SIGHUP end it in an orderly way, as Ctrl-C does."""
    import asyncio
    import signal

    received: list[int] = []

    async def run() -> int:
        task = asyncio.current_task()
        assert task is not None
        loop = asyncio.get_running_loop()

        def end(number: int) -> None:
            received.append(number)
            task.cancel()

        for name in ("SIGTERM", "SIGHUP"):
            if hasattr(signal, name) and sys.platform != "win32":  # Windows has no handlers in loops: Ctrl-C ends it
                loop.add_signal_handler(getattr(signal, name), end, getattr(signal, name))
        return await main

    try:
        return asyncio.run(run())
    except asyncio.CancelledError:
        return 128 + received[0] if received else 1


def _explain(command: str, error: Exception) -> int:
    """Print an error. Errors in the input have exit code 2, others 1."""
    from pydantic import ValidationError

    from toolgate.errors import ConfigError, ToolError, ToolgateError
    from toolgate.extras import missing_package

    if isinstance(error, ModuleNotFoundError):
        error = missing_package(error) or error
    if isinstance(error, ValidationError) and error.title.endswith("Settings"):
        from toolgate.settings import explain

        return _complain(command, explain(error), 2)
    if isinstance(error, ConfigError):
        return _complain(command, error.problems, 2)
    if isinstance(error, ToolError):
        return _complain(command, [f"{error.message} {error.next_step}".strip()], 2)
    if isinstance(error, ToolgateError):
        return _complain(command, [str(error)], 2)
    if isinstance(error, OSError) and error.strerror and error.filename:  # the root, or a named file
        return _complain(command, [f"{error.filename}: {error.strerror}"], 2)
    again = translate("python -X dev -m toolgate {command} … shows the traceback", command=command)
    return _complain(
        command, [f"{translate('unexpected {name}: {error}', name=type(error).__name__, error=error)} ({again})"], 1
    )


def _complain(command: str, lines: "Iterable[str]", code: int) -> int:
    from toolgate.cli.visible import visible

    for line in lines:
        sys.stderr.write(f"toolgate {command}: {visible(line, keep='')}\n")
    return code
