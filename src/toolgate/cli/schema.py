"""Print the JSON Schema (draft 2020-12) of the envelope that every tool answers in."""

import argparse
import json
import sys


def configure(parser: argparse.ArgumentParser) -> None:
    """The command takes no arguments."""


def run(_args: argparse.Namespace) -> int:
    """Print it."""
    from toolgate.protocol.schema import envelope_schema

    sys.stdout.write(json.dumps(envelope_schema(), indent=2, ensure_ascii=False) + "\n")
    return 0
