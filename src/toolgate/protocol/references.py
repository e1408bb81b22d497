"""Finds the files with the full output of a result that was cut for the model."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any


def references(data: object) -> dict[str, str]:
    """The files that an envelope's data refers to: `whole`, `stdout`, `stderr` → path, the most useful first."""
    if not isinstance(data, Mapping):
        return {}
    found: dict[str, Any] = {}
    if isinstance(cut := data.get("truncation"), Mapping):
        found["whole"] = cut.get("full_output_path")
    if isinstance(kept := data.get("full_output"), Mapping):
        found |= {name: kept.get(name) for name in ("stdout", "stderr")}
    return {name: path for name, path in found.items() if isinstance(path, str)}
