"""One thing after the other goes wrong, in an order that nobody knows."""

import asyncio
import random
import signal
import time
from collections import Counter
from collections.abc import Callable

from tests.distributed.cluster import SHORT_LEASE, Cluster, Process
from tests.distributed.faults import Proxy, restart

KINDS = ("cut", "gateway", "kill", "pause", "restart", "swallow")


class Trouble:
    """Kills and pauses workers, kills gateways, restarts the server, and breaks the way of some of them to it."""

    def __init__(
        self,
        machines: Cluster,
        workers: list[Process],
        gateways: list[Process],
        proxy: Proxy,
        new_gateway: Callable[[], Process],
        chance: random.Random,
    ) -> None:
        self._machines = machines
        self._workers = workers
        self._gateways = gateways
        self._proxy = proxy
        self._new_gateway = new_gateway
        self._chance = chance
        self.counts: Counter[str] = Counter()
        self._times: list[tuple[float, float]] = []
        """When each trouble began and ended."""

    def has_happened(self, times: int) -> bool:
        """Whether each kind of trouble has been there so many times."""
        return all(self.counts[kind] >= times for kind in KINDS)

    async def go_on(self, rounds: float) -> None:
        """Make trouble of every kind, so many times or until cancelled."""
        try:
            while self.counts.total() < rounds * len(KINDS):
                for what in self._chance.sample(KINDS, len(KINDS)):
                    await asyncio.sleep(self._chance.random() * 1.5)
                    began = time.time()
                    await getattr(self, f"_{what}")()
                    self._times.append((began, time.time()))
                    self.counts[what] += 1
        finally:
            self._proxy.heal()
            for process in self._machines.processes:
                process.signal(signal.SIGCONT)

    def quiet(self, since: float, until: float) -> float:
        """The seconds of a period in which nothing was wrong."""
        return until - since - sum(max(0.0, min(until, end) - max(since, began)) for began, end in self._times)

    async def supervise(self) -> None:
        """Start processes again that ended because they found no database when they started, as `deploy/` does."""
        again = ((self._gateways, self._new_gateway), (self._workers, self._machines.worker))
        while True:
            for processes, start in again:
                for place, process in enumerate(processes):
                    if process.popen.poll() is not None:
                        assert process.popen.returncode in (1, 2), process.output
                        processes[place] = start()
            await asyncio.sleep(0.2)

    def _victim(self) -> Process:
        return self._chance.choice(self._workers[1:])

    async def _kill(self) -> None:
        victim = self._victim()
        victim.kill()
        self._workers.remove(victim)
        self._workers.append(self._machines.worker())

    async def _gateway(self) -> None:
        self._gateways.pop(0).kill()
        self._gateways.append(self._new_gateway())

    async def _pause(self) -> None:
        victim = self._victim()
        victim.signal(signal.SIGSTOP)
        await asyncio.sleep(SHORT_LEASE * 1.5)
        victim.signal(signal.SIGCONT)

    async def _restart(self) -> None:
        await restart(self._machines.url, pause=0.5)

    async def _cut(self) -> None:
        self._proxy.cut()
        await asyncio.sleep(SHORT_LEASE * 1.5)
        self._proxy.heal()

    async def _swallow(self) -> None:
        self._proxy.swallow()
        await asyncio.sleep(SHORT_LEASE * 1.5)
        self._proxy.heal()
