"""Other projects to measure beside, one module each, in an environment of its own under .peers/.

A module defines what it can take part in, under the role's name: `dispatch`, `imports`, `grep`, `glob`, `read`, `edit`,
`shell`, `agent`; a dict there holds variants. It imports its packages inside the functions only: the orchestrator reads
it too. `lacks` maps a role to the cases that the project handles elsewhere: what the module does there is its own glue,
and is not measured.
"""

import importlib
import importlib.util

from benchmarks.peers.install import PEERS, environment


def contenders(role: str) -> dict[str, str]:
    """Every peer (and variant) with that role → the interpreter; one that cannot be installed is left out."""
    found = {}
    for name in PEERS:
        if importlib.util.find_spec(f"benchmarks.peers.{name}") is None:
            continue  # it takes part in compare/ only
        implementation = getattr(importlib.import_module(f"benchmarks.peers.{name}"), role, None)
        if implementation is None or (python := environment(name)) is None:
            continue
        variants = [f":{variant}" for variant in implementation] if isinstance(implementation, dict) else [""]
        found |= {f"peer:{name}{variant}": python for variant in variants}
    return found


def lacks(role: str, contender: str, case: str) -> bool:
    """Whether a peer (`peer:module` or `peer:module:variant`) handles that case elsewhere."""
    if not contender.startswith("peer:"):
        return False
    module = importlib.import_module(f"benchmarks.peers.{contender.split(':')[1]}")
    return case in getattr(module, "lacks", {}).get(role, ())
