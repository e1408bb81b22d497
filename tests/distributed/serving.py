"""`toolgate` itself, with the model and the tools of `program`: for `serve` in the role `both`.

python -m tests.distributed.serving serve --port 0 …
"""

import functools
import os
import sys

from tests.distributed.program import StepModel, pretend, registry
from toolgate.cli import main
from toolgate.gateway import create_app, server

if __name__ == "__main__":
    pretend()
    made = functools.partial(create_app, model=StepModel(), registry=registry(os.environ["TEST_EFFECTS"]))
    vars(server)["create_app"] = made
    sys.exit(main(sys.argv[1:]))
