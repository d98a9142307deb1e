"""The command ``loci-client``."""

import argparse
import os
import sys
from collections.abc import Sequence

from loci_client.bridge import serve

DEFAULT_URL = "http://localhost:8000"


def main(arguments: Sequence[str] | None = None) -> int:
    """Run a subcommand. Return the exit status."""
    parser = argparse.ArgumentParser(prog="loci-client", description="A client of Loci.")
    commands = parser.add_subparsers(dest="command", required=True)
    mcp = commands.add_parser("mcp", help="be an MCP server on standard input and output")
    mcp.add_argument(
        "--url", default=os.environ.get("LOCI_URL", DEFAULT_URL), help=f"default: $LOCI_URL or {DEFAULT_URL}"
    )
    mcp.add_argument("--token", default=os.environ.get("LOCI_TOKEN", ""), help="default: $LOCI_TOKEN")
    options = parser.parse_args(arguments)
    if not options.token:
        print("loci-client: give a token by LOCI_TOKEN or --token", file=sys.stderr)
        return 2
    # Replies have any characters, also where the terminal's encoding has few.
    for stream in (sys.stdin, sys.stdout):
        stream.reconfigure(encoding="utf-8")  # type: ignore[union-attr]
    serve(options.url, options.token)
    return 0
