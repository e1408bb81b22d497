"""A worker that is killed when it has stored an output, and before the log says that the call has ended.

    python -m tests.distributed.dying NAME=DIR …

The first `TEST_DEATHS` such workers die.
"""

import os
import signal
import sys
from pathlib import Path

from tests.distributed.program import main
from toolgate.sessions.outputs import Outputs

_keep = Outputs.keep


async def _keep_and_die(self: Outputs, session_id: str, reference: str) -> None:
    await _keep(self, session_id, reference)
    for number in range(int(os.environ["TEST_DEATHS"])):
        try:
            (Path(os.environ["TEST_EFFECTS"]) / f"death{number}").touch(exist_ok=False)
        except FileExistsError:
            continue
        os.kill(os.getpid(), signal.SIGKILL)


if __name__ == "__main__":
    Outputs.keep = _keep_and_die  # type: ignore[method-assign]
    main(sys.argv[1:])
