#!/usr/bin/env python
"""Runs a command; the embedded Postgres is up for as long as the command needs it."""

import os
import signal
import sys
from types import FrameType

WITHOUT_DATABASE = {"help", "version", "collectstatic", "diffsettings", "spectacular", "startapp"}


def main() -> None:
    """Start the embedded database unless the command has no use for it, then run the command."""
    os.environ.setdefault("DJANGO_SETTINGS_MODULE", "config.settings")
    from django.core.management import execute_from_command_line

    if len(sys.argv) < 2 or sys.argv[1].lstrip("-") in WITHOUT_DATABASE or "--help" in sys.argv:
        execute_from_command_line(sys.argv)
        return
    with embedded_database():
        execute_from_command_line(sys.argv)


def embedded_database():  # noqa: ANN201
    """The embedded server as a context, or nothing where `DATABASE_URL` names another one."""
    from apps.common.embedded_postgres import EmbeddedPostgresError, running
    from config.env import database_home

    signal.signal(signal.SIGTERM, leave)
    try:
        return running(database_home())
    except EmbeddedPostgresError as error:
        sys.exit(f"The embedded database cannot start: {error}")


def leave(signum: int, frame: FrameType | None) -> None:
    """Turn SIGTERM into an ordinary exit, so that contexts are closed."""
    sys.exit(128 + signum)


if __name__ == "__main__":
    main()
