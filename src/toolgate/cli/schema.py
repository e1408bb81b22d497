"""Print the JSON Schema (draft 2020-12) of the envelope that every tool returns, or of the gateway's frames."""

import argparse
import json
import sys

from toolgate.language.translate import translate


def configure(parser: argparse.ArgumentParser) -> None:
    """Add the command's arguments."""
    parser.add_argument(
        "--wire", action="store_true", help=translate("print the gateway's requests and frames instead")
    )


def run(args: argparse.Namespace) -> int:
    """Print the schema."""
    if getattr(args, "wire", False):
        from toolgate.gateway.wire_schema import wire_schema as schema
    else:
        from toolgate.protocol.schema import envelope_schema as schema

    sys.stdout.write(json.dumps(schema(), indent=2, ensure_ascii=False) + "\n")
    return 0
