"""The two kinds of hooks: a command of the user, or a function of a package that the user has installed."""

from __future__ import annotations

import asyncio
import contextlib
import inspect
import json
import threading
from collections.abc import Callable, Mapping
from typing import Annotated, Any, Literal, cast

from pydantic import BaseModel, ConfigDict, Field

from toolgate.runtime.hook_answers import Event, HookError, HookOutcome, outcome_of, parse_answer, text_of
from toolgate.workspace.threads import start_thread

GROUP = "toolgate.hooks"
"""The entry point group that packages offer hooks in."""
_MAX_ANSWER = 65_536


class CommandHook(BaseModel):
    """A command line."""

    model_config = ConfigDict(extra="ignore", defer_build=True)

    type: Literal["command"]
    command: str = Field(min_length=1)
    timeout: float = Field(default=60, gt=0, le=600)

    async def ask(self, event: Event, document: dict[str, Any]) -> HookOutcome:
        """Run the command and return its answer. Raises `HookError`."""
        from toolgate.process.hook_command import run_hook

        root = document["cwd"]
        work = run_hook(
            self.command,
            json.dumps(document, default=str).encode("utf-8", "replace"),
            timeout=self.timeout,
            directory=root,
            environment={"CLAUDE_PROJECT_DIR": root, "TOOLGATE_PROJECT_DIR": root},
        )
        running = asyncio.ensure_future(work)  # in its own task, so that a cancelled call does not wait for the command
        try:
            ended = await asyncio.shield(running)
        except TimeoutError:
            raise HookError(f"it did not end within {self.timeout:g} s") from None
        except (OSError, ValueError) as error:
            raise HookError(str(error)) from None
        finally:
            running.cancel()
        return outcome_of(ended.exit_code, text_of(ended.stdout), text_of(ended.stderr), event)


class EntryPointHook(BaseModel):
    """A function of an installed package, by the name of its entry point. Only `hooks.json` makes it run."""

    model_config = ConfigDict(extra="ignore", defer_build=True)

    type: Literal["entry_point"]
    name: str = Field(min_length=1)
    timeout: float = Field(default=60, gt=0, le=600)

    async def ask(self, event: Event, document: dict[str, Any]) -> HookOutcome:
        """Call the function and return its answer: None, or an object like a command's JSON. Raises `HookError`."""
        given = json.loads(json.dumps(document, default=str))  # a copy: the function may change it
        try:
            async with asyncio.timeout(self.timeout):
                found = await _in_daemon_thread(lambda: _call(self.name, given))
                if inspect.isawaitable(found):
                    found = await found
        except TimeoutError:
            raise HookError(f"{self.name!r} did not return within {self.timeout:g} s") from None
        except HookError:
            raise
        except Exception as error:  # noqa: BLE001 - whatever a hook raises denies the call
            raise HookError(f"{self.name!r} raised {type(error).__name__}: {str(error)[:200]}".rstrip(": ")) from None
        if found is None:
            return HookOutcome()
        return parse_answer(_answer(self.name, found), event)


class HookGroup(BaseModel):
    """The hooks of an event for the tools that a pattern matches."""

    model_config = ConfigDict(extra="ignore", defer_build=True)

    matcher: str = ""
    hooks: list[Annotated[CommandHook | EntryPointHook, Field(discriminator="type")]]


def _call(name: str, document: dict[str, Any]) -> object:
    from importlib.metadata import entry_points

    entries = list(entry_points(group=GROUP, name=name))
    if not entries:
        raise HookError(f"no installed package has the entry point {name!r} in the group {GROUP}")
    if len(entries) > 1:
        raise HookError(f"{len(entries)} installed packages have the entry point {name!r} in the group {GROUP}")
    hook = entries[0].load()
    if not callable(hook):
        raise HookError(f"the entry point {name!r} is not a function")
    return cast("Callable[[dict[str, Any]], object]", hook)(document)


def _answer(name: str, found: object) -> dict[str, Any]:
    if not isinstance(found, Mapping):
        raise HookError(f"{name!r} returned {type(found).__name__}, not an object or None")
    try:
        text = json.dumps(dict(found))
    except (TypeError, ValueError, RecursionError):
        raise HookError(f"what {name!r} returned is not JSON") from None
    if len(text) > _MAX_ANSWER:
        raise HookError(f"{name!r} returned more than {_MAX_ANSWER} characters")
    answer: dict[str, Any] = json.loads(text)
    return answer


async def _in_daemon_thread(work: Callable[[], object]) -> object:
    """Run a function that may hang in a daemon thread, so that it cannot keep the program from ending."""
    loop = asyncio.get_running_loop()
    done: asyncio.Future[object] = loop.create_future()

    def settle(result: object, error: BaseException | None) -> None:
        if not done.done():
            done.set_result(result) if error is None else done.set_exception(error)

    def run() -> None:
        result, problem = None, None
        try:
            result = work()
        except Exception as error:  # noqa: BLE001 - whatever a hook raises denies the call
            problem = error
        except BaseException as error:  # noqa: BLE001 - SystemExit and the like end the hook, not the program
            problem = HookError(f"it raised {type(error).__name__}")
        with contextlib.suppress(RuntimeError):  # the loop is closed, so nothing waits for the result
            loop.call_soon_threadsafe(settle, result, problem)

    start_thread(threading.Thread(target=run, name="toolgate-hook", daemon=True))
    return await done
