#!/usr/bin/env python
"""Runs a command; the embedded Postgres is up for as long as the command needs it."""

import os
import signal
import sys
from types import FrameType

WITHOUT_DATABASE = {"help", "version", "collectstatic", "diffsettings", "spectacular", "startapp"}


def main() -> None:
    """Run the command, with the embedded database unless the command has no use for it."""
    os.environ.setdefault("DJANGO_SETTINGS_MODULE", "config.settings")
    from django.core.exceptions import ImproperlyConfigured
    from django.core.management import execute_from_command_line

    try:
        if len(sys.argv) < 2 or sys.argv[1].lstrip("-") in WITHOUT_DATABASE or "--help" in sys.argv:
            execute_from_command_line(sys.argv)
        else:
            execute_with_database()
    except ImproperlyConfigured as error:
        sys.exit(f"The configuration can't be used: {error}")


def execute_with_database() -> None:
    """Run the command while the embedded server is up; with `DATABASE_URL` set there is none to start."""
    from django.core.management import execute_from_command_line

    from apps.launcher.embedded_postgres import running
    from apps.launcher.postgres_programs import EmbeddedPostgresError
    from config.env import database_home

    signal.signal(signal.SIGTERM, leave)
    try:
        with running(database_home()):
            execute_from_command_line(sys.argv)
    except EmbeddedPostgresError as error:
        sys.exit(f"The embedded database cannot run: {error}")
    except KeyboardInterrupt:
        sys.exit(128 + signal.SIGINT)


def leave(signum: int, frame: FrameType | None) -> None:
    """Turn SIGTERM into an ordinary exit, so that the database is stopped."""
    sys.exit(128 + signum)


if __name__ == "__main__":
    main()
