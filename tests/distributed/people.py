"""People at their pages: they watch through whichever gateway lives, and answer what they are asked."""

import asyncio
import contextlib
import random
from typing import Any

from websockets.exceptions import WebSocketException

from tests.distributed.cluster import Cluster, Process
from tests.distributed.gateways import Client, client, port_of


class Follower:
    """One person's page: it watches their sessions through some gateway, and through another when that one dies."""

    def __init__(self, user: str, sessions: list[str], gateways: list[Process]) -> None:
        self._user = user
        self._sessions = sessions
        self._gateways = gateways
        self.seen: dict[str, list[int]] = {session: [] for session in sessions}
        self._text: dict[str, str] = dict.fromkeys(sessions, "")

    def has(self, session: str, seq: int) -> bool:
        return seq in self.seen[session]

    async def follow(self, machines: Cluster, chance: random.Random) -> None:
        while True:
            with contextlib.suppress(OSError, WebSocketException, AssertionError):
                port = await port_of(machines, chance.choice(self._gateways), patience=1)  # or through another one
                async with client(port, f"token-of-{self._user}") as watching:
                    await self._watch(watching)
            await asyncio.sleep(0.2)

    async def _watch(self, watching: Client) -> None:
        """Note what comes, until the gateway ends; what it refuses without its database is sent again."""
        wanted: dict[str, str] = {}
        answers: dict[str, str] = {}
        for session in self._sessions:
            wanted[await self._subscribe(watching, session)] = session
        taken = 0
        while watching.reading is not None and (not watching.reading.done() or taken < len(watching.frames)):
            for frame in watching.frames[taken:]:
                taken += 1
                if frame["type"] == "error" and frame["id"] in wanted:
                    await asyncio.sleep(0.2)
                    wanted[await self._subscribe(watching, wanted[frame["id"]])] = wanted[frame["id"]]
                elif frame["type"] == "error" and frame["id"] in answers:
                    if frame["data"]["code"] != "INVALID_PARAMS":  # else it was answered already
                        await asyncio.sleep(0.2)
                        answers[await self._allow(watching, answers[frame["id"]])] = answers[frame["id"]]
                elif "session_id" in frame:
                    self._take(frame)
                    if frame["type"] == "approval_request":
                        answers[await self._allow(watching, frame["data"]["id"])] = frame["data"]["id"]
            await asyncio.sleep(0.05)

    async def _subscribe(self, watching: Client, session: str) -> str:
        after = max(self.seen[session], default=0)
        return await watching.send("session.subscribe", session_id=session, after_seq=after, details=True)

    async def _allow(self, watching: Client, approval: str) -> str:
        return await watching.send("approval.respond", id=approval, allowed=True)

    def _take(self, frame: dict[str, Any]) -> None:
        session, kind = frame["session_id"], frame["type"]
        if kind == "stream_chunk":
            self._text[session] += frame["data"]["content"]
        repeated = kind == "approval_request" and frame.get("seq") in self.seen[session]  # shown again, as it is open
        if "seq" in frame and not repeated:
            self.seen[session].append(frame["seq"])

    def check_text(self, session: str, endings: list[str]) -> None:
        """Every last word was shown, whoever said it and through whichever gateway."""
        if session not in self._text:
            return
        for words in endings:
            assert words in self._text[session], f"{words!r} was never shown"
