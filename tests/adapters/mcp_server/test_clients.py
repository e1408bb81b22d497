"""Clients over HTTP: a shell for each session, and nothing left when one is deleted."""

from pathlib import Path

from tests.adapters.mcp_server.kit import Sleeper, serving_http, text, until


async def test_every_session_has_a_shell_of_its_own(root: Path) -> None:
    async with serving_http(root) as server, server.client() as first, server.client() as second:
        await first.call_tool("Bash", {"command": "export WHO=first"})
        assert text(await second.call_tool("Bash", {"command": 'echo "[$WHO]"'})) == "[]\n"
        assert text(await first.call_tool("Bash", {"command": 'echo "[$WHO]"'})) == "[first]\n"
        async with server.client(era="auto", session="made-up") as third:  # it has no sessions, whatever it says
            await third.call_tool("Bash", {"command": "export WHO=third"})
        async with server.client(era="auto") as fourth:
            assert text(await fourth.call_tool("Bash", {"command": 'echo "[$WHO]"'})) == "[third]\n"


async def test_a_session_that_is_deleted_takes_its_jobs_with_it(root: Path) -> None:
    sleeper = Sleeper()
    async with serving_http(root) as server:
        async with server.client() as connected:
            await connected.call_tool("Bash", {"command": f"sleep {sleeper.seconds}", "background": True})
            await until(lambda: len(sleeper.processes()) >= 1)
        await sleeper.gone()
