"""A database of its own for an evaluation, so that it keeps nobody waiting who uses the installation."""

from collections.abc import Iterator
from contextlib import contextmanager

from celery import Celery, current_app
from django.core.management import call_command
from django.db import OperationalError, ProgrammingError, connection

SUFFIX = "_evaluation"  # of its name, after the name of the database in use


class NoDatabase(Exception):
    """No database can be created for the evaluation."""


@contextmanager
def own_database() -> Iterator[None]:
    """Use a new database on the same server inside the block, with all tables and no rows. Drop it at the end.

    Raise NoDatabase if the server refuses to create it, or another evaluation is running.
    """
    in_use = connection.settings_dict["NAME"]
    own = in_use + SUFFIX
    quoted = connection.ops.quote_name(own)
    try:
        with connection.cursor() as cursor:
            cursor.execute(f"DROP DATABASE IF EXISTS {quoted}")  # that of an evaluation that was killed
            cursor.execute(f"CREATE DATABASE {quoted}")
    except (OperationalError, ProgrammingError) as error:
        raise NoDatabase(f"An evaluation needs the database {own}, which can't be created: {error}") from error
    try:
        _connect_to(own)
        call_command("migrate", verbosity=0, interactive=False)
        with _queues_in_memory():
            yield
    finally:
        _connect_to(in_use)
        with connection.cursor() as cursor:
            cursor.execute(f"DROP DATABASE {quoted} WITH (FORCE)")


@contextmanager
def _queues_in_memory() -> Iterator[None]:
    """Send tasks to no worker: the queues in use may not even exist, where nothing has been migrated yet."""
    in_use = current_app._get_current_object()
    Celery("evaluation", broker="memory://", set_as_current=True)
    try:
        yield
    finally:
        in_use.set_current()


def _connect_to(name: str) -> None:
    """Have the connections that are opened from now on lead to another database."""
    connection.close()
    connection.close_pool()  # type: ignore[attr-defined]  # of the backend of Postgres
    connection.settings_dict["NAME"] = name
