"""Variables that commands exported since the start: listed, shown, hashed."""

import asyncio
import os
from collections.abc import Awaitable, Callable
from pathlib import Path
from typing import Any

import pytest

from tests.shell.kit import Session
from tests.support.arena import arena_for
from tests.support.privileges import run_as
from toolgate.shell.state import initial
from toolgate.shell.state_history import StateHistory


def in_session(uid: int, layer: str, script: Callable[[Session], Awaitable[Any]], **environment: str) -> Any:
    async def run(root: Path) -> Any:
        session = Session(root, layer, environment)
        try:
            return await script(session)
        finally:
            await session.shell.close()

    with arena_for(uid) as arena:
        return run_as(uid, lambda: asyncio.run(run(arena.root)))


STEERING = (
    "HOME https_proxy HTTP_PROXY all_proxy CURL_HOME PIP_INDEX_URL PIP_CONFIG_FILE DOCKER_HOST KUBECONFIG "
    "XDG_CONFIG_HOME XDG_DATA_HOME GIT_SSH_COMMAND GIT_CONFIG_GLOBAL NODE_OPTIONS NPM_CONFIG_REGISTRY "
    "npm_config_registry PYTHONPATH PYTHONUSERBASE PYTHONSTARTUP LD_PRELOAD BASH_ENV ENV IFS CDPATH "
    "GLOBIGNORE PS4 PROMPT_COMMAND SSH_AUTH_SOCK SSL_CERT_FILE REQUESTS_CA_BUNDLE AWS_PROFILE "
    "AWS_ENDPOINT_URL CARGO_HOME GOPROXY GOFLAGS MAKEFLAGS JAVA_TOOL_OPTIONS TMPDIR LANG TZ RES_OPTIONS "
    "HOSTALIASES WGETRC NETRC GNUPGHOME TERRAFORM_CONFIG TWINE_REPOSITORY_URL UV_INDEX_URL BUNDLE_GEMFILE "
    "PERL5LIB RUBYOPT LESSOPEN EDITOR PAGER anything_else "
).split()


@pytest.mark.parametrize("name", STEERING)
def test_every_exported_variable_that_changed_is_listed(name: str) -> None:
    first = initial("/root", {"LANG": "C", "HOME": "/home", "TMPDIR": "/tmp", "PATH": "/bin"})
    memory = StateHistory(first)
    memory.keep("read", initial("/root", {"LANG": "C", "HOME": "/home", "TMPDIR": "/tmp", "PATH": "/bin", name: "new"}))

    assert memory.view("full").changes == ((name, "new"),)


@pytest.mark.parametrize("layer", ["bwrap", "namespaces", "landlock"])
def test_every_exported_variable_that_changed_is_shown_and_hashed(layer: str) -> None:
    names = ["HOME", "https_proxy", "PIP_INDEX_URL", "TMPDIR", "anything"]

    async def script(session: Session) -> tuple[list[str], int, str, list[str]]:
        before = await session.asked("true", access="full")
        hidden, prints = [], set()
        for name in names:
            await session.run(f"export {name}=/steered/{name}", access="read")
            if f"\nwith {name}=/steered/{name}" not in await session.asked("true", access="full"):
                hidden.append(name)
            prints.add(session.approver.requests[-1].fingerprint)
        await session.run("unset LANG; export -n GIT_PAGER; umask 077", access="read")
        gone = (await session.asked("true", access="full")).split("\n")
        return hidden, len(prints), before, gone

    hidden, prints, before, gone = in_session(os.geteuid(), layer, script)

    assert hidden == []
    assert prints == len(names)
    assert "\nwith " not in before  # a control: an environment that nothing changed shows nothing
    assert {"with LANG not set", "with GIT_PAGER not set", "with umask=0077"} <= set(gone)


async def test_a_variable_that_is_set_without_a_change_is_not_shown(tmp_path: Path) -> None:
    session = Session(tmp_path, "bwrap")
    await session.run('export PATH="$PATH"; cd .; export TZ2=1; unset TZ2')

    assert "\nwith " not in await session.asked("rm -f nothing")
    await session.shell.close()


async def test_control_exporting_a_variable_makes_no_command_ask(tmp_path: Path) -> None:
    session = Session(tmp_path, "bwrap")
    await session.run("export FOO=1 https_proxy=http://localhost:1")

    assert await session.run("echo $FOO > made; cat made") == "1\n"
    assert session.approver.requests == []
    await session.shell.close()


async def test_many_and_long_variables_are_counted_and_hashed_never_left_out(tmp_path: Path) -> None:
    session = Session(tmp_path, "bwrap")
    await session.run(f"export {' '.join(f'V{number}=x' for number in range(100, 300))} LONG=$(printf %05000d 7)end")
    first = await session.asked("true", access="full")
    await session.run("export LONG=$(printf %05000d 8)end")
    second = await session.asked("true", access="full")
    await session.run("export V299=y")
    third = await session.asked("true", access="full")
    await session.shell.close()

    assert max(map(len, first.split("\n"))) < 5000
    assert "with LONG=0000" in first
    assert "4803 characters left out, sha256 " in first
    assert "with 151 more variables (sha256 " in first
    assert "V299" in first
    assert len({first, second, third}) == 3
    assert len({request.fingerprint for request in session.approver.requests}) == 3
