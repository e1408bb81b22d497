"""Run the turns that gateways queue, until a signal arrives."""

from __future__ import annotations

import argparse
import asyncio
import contextlib
import os
import signal
import sys
from pathlib import Path
from typing import TYPE_CHECKING, Any

from toolgate.cli.errors import UsageError
from toolgate.cli.parser import add_model, add_root, add_tools, own_tools
from toolgate.extras import require_extra
from toolgate.language.translate import translate

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping, Sequence

    from toolgate.distributed.worker import Worker
    from toolgate.models import ModelClient
    from toolgate.runtime.registry import ToolRegistry
    from toolgate.settings import Settings
    from toolgate.tools.base import Tool

_MAX_NAME = 1000
"""Maximum characters of a workspace name, which may be a path."""


def configure(parser: argparse.ArgumentParser) -> None:
    """Add the command's arguments; everything else is in the settings."""
    add_root(parser)
    parser.add_argument(
        "--workspace",
        action="append",
        metavar="NAME=DIR",
        default=[],
        help=translate(
            "a workspace that this worker can reach, by the name that gateways use; may be repeated "
            "(default: TOOLGATE_DISTRIBUTED_WORKSPACE, else its path, at the root)"
        ),
    )
    parser.add_argument("--coding", action="store_true", help=translate("allow sessions in coding mode"))
    add_model(parser)
    add_tools(parser)
    parser.add_argument(
        "--port", type=int, metavar="PORT", help=translate("serve /health/live, /health/ready and /metrics here")
    )
    parser.add_argument("--host", default="127.0.0.1", help=translate("address for --port (default: 127.0.0.1)"))


def run(args: argparse.Namespace) -> int:
    """Run turns until a signal arrives."""
    require_extra("distributed")  # brings the packages of [postgres], too
    require_extra("postgres")
    settings = _settings(args)
    workspaces = _workspaces(args.workspace, settings)
    from toolgate.gateway.logs import logging_to_stderr

    probe, tools = _probe(args.host, args.port), own_tools(args)
    with logging_to_stderr(settings):
        asyncio.run(work(settings, workspaces, say=_say, probe=probe, tools=tools))
    return 0


def _settings(args: argparse.Namespace) -> Settings:
    from toolgate.compose import settings_with_model
    from toolgate.settings import Settings

    settings = Settings()
    if args.coding:
        session = settings.session.model_copy(update={"coding_enabled": True})
        settings = settings.model_copy(update={"session": session})
    if args.root is not None:
        workspace = settings.workspace.model_copy(update={"root": args.root})
        settings = settings.model_copy(update={"workspace": workspace})
    return settings_with_model(settings, args.model)


def _workspaces(given: list[str], settings: Settings) -> dict[str, Path]:
    """Return roots by name. Raises `UsageError` for an entry that is not NAME=DIR or a duplicate."""
    if not given:
        root = settings.workspace.root.resolve()
        return {settings.distributed.workspace or str(root): root}
    found: dict[str, Path] = {}
    for text in given:
        name, equals, path = text.partition("=")
        if not equals or not name or not path:
            raise UsageError(
                translate("--workspace is NAME=DIR, for example main=/srv/project, not {text}", text=repr(text))
            )
        _check_name(name)
        if name in found:
            raise UsageError(translate("--workspace names {name} twice; one name is one directory", name=repr(name)))
        _check_directory(name, path)
        found[name] = Path(path).resolve()
    return found


def _check_name(name: str) -> None:
    if not name.isprintable() or name != name.strip() or len(name) > _MAX_NAME:
        raise UsageError(
            translate(
                "--workspace: a name is up to {max_name} printable characters, without blanks around it, "
                "not {name}. "
                "Use the one that gateways have in TOOLGATE_DISTRIBUTED_WORKSPACE",
                max_name=_MAX_NAME,
                name=repr(name[:60]),
            )
        )


def _check_directory(name: str, path: str) -> None:
    if not Path(path).is_dir():
        raise UsageError(
            translate(
                "--workspace {name}: {path} is not a directory here. Create it, or mount it", name=name, path=path
            )
        )
    if not os.access(path, os.R_OK | os.X_OK):
        raise UsageError(
            translate(
                "--workspace {name}: {path} cannot be read by user {user}. Change its owner or mode",
                name=name,
                path=path,
                user=os.getuid(),
            )
        )


def _probe(host: str, port: int | None) -> tuple[str, int] | None:
    if port is not None and not 0 <= port < 65536:
        raise UsageError(translate("--port {port}: a port is a number from 0 to 65535; 0 takes a free one", port=port))
    return None if port is None else (host, port)


async def work(
    settings: Settings,
    workspaces: Mapping[str, Path],
    *,
    say: Callable[[str], None],
    model: ModelClient | None = None,
    registry: ToolRegistry | None = None,
    tools: Sequence[Tool[Any]] = (),
    probe: tuple[str, int] | None = None,
) -> None:
    """Run turns until a signal; then finish running turns, or release them to other workers."""
    from toolgate.compose import running_worker

    stopping = asyncio.Event()
    worker: Worker | None = None

    def on_signal() -> None:
        if stopping.is_set() and worker is not None:
            worker.hand_over()  # a second signal: do not wait
        stopping.set()

    for number in (signal.SIGTERM, signal.SIGINT):
        asyncio.get_running_loop().add_signal_handler(number, on_signal)
    async with contextlib.AsyncExitStack() as closing:
        worker = await closing.enter_async_context(
            running_worker(settings, workspaces, model=model, registry=registry, tools=tools)
        )
        if probe is not None:
            from toolgate.gateway.probe import serve_health_checks

            host, port = await closing.enter_async_context(serve_health_checks(worker, *probe))
            say(f"Health and metrics at http://{host}:{port}/")
        for name, root in workspaces.items():
            if not os.access(root, os.W_OK):
                say(f"{name}: user {os.getuid()} cannot write to {root}; calls that change files there will fail.")
        say(f"Worker {worker.id} runs turns of {', '.join(workspaces)}. SIGTERM ends it after its turns have finished.")
        await stopping.wait()
        say(f"Shutting down: {worker.running} turns are running. A second signal releases them at once.")
        await worker.drain()  # here, so that health checks are answered until then


def _say(text: str) -> None:
    sys.stdout.write(f"{text}\n")
    sys.stdout.flush()
