"""One contender's process: `python -m compare.worker MODULE`; a request per line in, an answer per line out."""

from __future__ import annotations

import importlib
import json
import os
import resource
import sys
from pathlib import Path
from typing import Any, TextIO

from compare.driver import Driver, Person, abilities

_MAX_WRITES = 100_000
"""A writer that nobody kills ends by itself."""


class Worker:
    """Answers requests with the driver of one contender."""

    def __init__(self, driver: type[Driver]) -> None:
        self._make = driver
        self._driver: Driver | None = None

    def answer(self, request: dict[str, Any]) -> dict[str, Any]:
        """Do one request; whatever a contender raises is the answer of its tool."""
        do = request.pop("do")
        if do == "open":
            self.close()
            self._driver = self._make(Path(request["root"]), Person(allows=request["allows"]))
            return {}
        if do == "writer":
            return {"pid": self._writer(**request)}
        if do == "reap":
            os.waitpid(request["pid"], 0)
            return {}
        assert self._driver is not None
        questions = self._driver.person.questions
        before = len(questions)
        try:
            answered = getattr(self._driver, do)(**request)
            said = {"text": answered.text[-200_000:], "failed": answered.failed}
        except Exception as error:  # noqa: BLE001 a tool may raise anything
            said = {"text": f"{type(error).__name__}: {error}"[-2_000:], "failed": True}
        return said | {"asked": len(questions) - before}

    def close(self) -> None:
        """End the driver."""
        if self._driver is not None:
            self._driver.close()
            self._driver = None

    def _writer(self, root: str, path: str, texts: list[str]) -> int:
        """A process that writes the texts in turns until it is killed; its id, once it has written the first."""
        reading, writing = os.pipe()
        pid = os.fork()
        if pid:
            os.close(writing)
            with os.fdopen(reading) as pipe:
                said = pipe.readline()
            if said != "ready\n":
                os.waitpid(pid, 0)
                raise RuntimeError(f"the writer ended: {said}")
            return pid
        try:
            os.setsid()
            driver = self._make(Path(root), Person(allows=True))
            _write_for_ever(driver, path, texts, writing)
        except Exception as error:  # noqa: BLE001 the parent process says it
            os.write(writing, f"{type(error).__name__}: {error}".encode())
        os._exit(1)


def _write_for_ever(driver: Driver, path: str, texts: list[str], ready: int) -> None:
    """Replace the whole file, or its first line if the tool does not overwrite files."""
    if "read" in abilities(type(driver)):
        driver.read(path)
    lines = [text.partition("\n")[0] for text in texts]
    for number in range(_MAX_WRITES):
        now = number % len(texts)
        whole = driver.overwrites
        answer = driver.write(path, texts[now]) if whole else driver.edit(path, lines[now - 1], lines[now])
        if answer.failed:
            raise RuntimeError(answer.text[:500])
        if number == 0:
            os.write(ready, b"ready\n")


def serve(worker: Worker, requests: TextIO, answers: TextIO) -> None:
    """Answer until the requests end."""
    for line in requests:
        try:
            answer = worker.answer(json.loads(line))
        except Exception as error:  # noqa: BLE001 the orchestrator shows it
            answer = {"error": f"{type(error).__name__}: {error}"}
        answers.write(json.dumps(answer) + "\n")
        answers.flush()
    worker.close()


def main() -> None:
    """Keep the protocol's stream to ourselves (contenders may print), then serve."""
    answers = os.fdopen(os.dup(1), "w")
    requests = os.fdopen(os.dup(0))
    null = os.open(os.devnull, os.O_RDONLY)
    os.dup2(null, 0)
    os.dup2(2, 1)
    sys.stdout = sys.stderr
    driver: type[Driver] = importlib.import_module(f"compare.drivers.{sys.argv[1]}").Contender
    driver.load()
    if limit := os.environ.get("COMPARE_MEMORY"):
        resource.setrlimit(resource.RLIMIT_AS, (int(limit), int(limit)))
    answers.write(json.dumps({"abilities": abilities(driver)}) + "\n")
    answers.flush()
    serve(Worker(driver), requests, answers)


if __name__ == "__main__":
    main()
