"""Print the JSON Schema (draft 2020-12) of the envelope that every tool answers in, or of the gateway's frames."""

import argparse
import json
import sys


def configure(parser: argparse.ArgumentParser) -> None:
    """Which of both."""
    parser.add_argument("--wire", action="store_true", help="requests and frames of the gateway instead")


def run(args: argparse.Namespace) -> int:
    """Print it."""
    if getattr(args, "wire", False):
        from toolgate.gateway.wire_schema import wire_schema as schema
    else:
        from toolgate.protocol.schema import envelope_schema as schema

    sys.stdout.write(json.dumps(schema(), indent=2, ensure_ascii=False) + "\n")
    return 0
