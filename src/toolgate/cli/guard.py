"""Nothing that goes wrong in a command shows a traceback: one clear line, and an exit code."""

import os
import sys
from collections.abc import Callable
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Coroutine, Iterable
    from typing import Any


class UsageError(Exception):
    """The command line was not understood; the message is the whole explanation."""


def open_standard_streams() -> None:
    """Put /dev/null in the place of standard streams that were closed.

    Otherwise the next file that is opened would take the place of one, and be read or written as such.
    """
    for number, name, mode in ((0, "stdin", "r"), (1, "stdout", "w"), (2, "stderr", "w")):
        if getattr(sys, name) is None:
            flags = os.O_RDONLY if number == 0 else os.O_WRONLY
            opened = os.open(os.devnull, flags)  # noqa: TID251 - no file of anybody's
            if opened != number:
                os.dup2(opened, number, inheritable=True)
                os.close(opened)
            os.set_inheritable(number, True)
            setattr(sys, name, os.fdopen(number, mode, closefd=False))


def run_guarded(command: str, run: Callable[[], int]) -> int:
    """Run a command; turn whatever it raises into a line on stderr and an exit code."""
    for stream in (sys.stdout, sys.stderr):
        if hasattr(stream, "reconfigure"):  # an ASCII terminal shows what it cannot print as \u2026
            stream.reconfigure(errors="backslashreplace")
    try:
        code = run()
        sys.stdout.flush()
    except UsageError as error:
        return _complain(command, [str(error)], 2)
    except KeyboardInterrupt:
        return _complain(command, ["interrupted"], 130)
    except BrokenPipeError:
        os._exit(1)  # the reader went away; anything gentler tries to flush into the pipe again
    except Exception as error:
        if sys.flags.dev_mode:
            raise
        return _explain(command, error)
    return code


def run_until_signalled(main: "Coroutine[Any, Any, int]") -> int:
    """Run a program's main coroutine; SIGTERM and SIGHUP end it in good order, as Ctrl-C does."""
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

        for number in (signal.SIGTERM, signal.SIGHUP):
            loop.add_signal_handler(number, end, number)
        return await main

    try:
        return asyncio.run(run())
    except asyncio.CancelledError:
        return 128 + received[0] if received else 1


def _explain(command: str, error: Exception) -> int:
    """Errors in what was given are usage (2); the rest is ours (1)."""
    from pydantic import ValidationError

    from toolgate.errors import ConfigError, ToolError, ToolgateError

    if isinstance(error, ValidationError) and error.title.endswith(("Settings", "_PolicyFile")):
        from toolgate.settings import explain

        return _complain(command, explain(error), 2)
    if isinstance(error, ConfigError):
        return _complain(command, error.problems, 2)
    if isinstance(error, ToolError):
        return _complain(command, [f"{error.message} {error.next_step}".strip()], 2)
    if isinstance(error, ToolgateError):
        return _complain(command, [str(error)], 2)
    if isinstance(error, OSError) and error.strerror and error.filename:  # the root, or a file that was named
        return _complain(command, [f"{error.filename}: {error.strerror}"], 2)
    again = f"python -X dev -m toolgate {command} … shows where"
    return _complain(command, [f"unexpected {type(error).__name__}: {error} ({again})"], 1)


def _complain(command: str, lines: "Iterable[str]", code: int) -> int:
    from toolgate.cli.visible import visible

    for line in lines:
        sys.stderr.write(f"toolgate {command}: {visible(line, keep='')}\n")
    return code
