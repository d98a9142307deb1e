"""What the tests do to the database between each other."""

from collections.abc import Iterator
from contextlib import contextmanager

from django.conf import settings
from django.contrib.auth.models import Permission
from django.contrib.contenttypes.models import ContentType
from django.db import OperationalError, connection, transaction
from django.test import TransactionTestCase
from pytest_django.plugin import DjangoDbBlocker

TRIES = 5
LOCK_TIMEOUT = 30  # seconds
# How many other connections to this database wait for a lock. Other processes test in databases of their own, and a
# lock on a row names none: who waits has locked a table too. Unlike pg_stat_activity, pg_locks shows the present also
# within a transaction.
WAITING = """SELECT count(DISTINCT waiting.pid) FROM pg_locks AS waiting JOIN pg_locks AS held USING (pid)
    WHERE NOT waiting.granted AND held.granted AND pid <> pg_backend_pid()
    AND held.database = (SELECT oid FROM pg_database WHERE datname = current_database())"""
# What `migrate` writes, and no test changes.
KEPT = {Permission._meta.db_table, ContentType._meta.db_table}


@contextmanager
def stored_for_a_module(blocker: DjangoDbBlocker) -> Iterator[None]:
    """Keep what a module's fixture stores, until the end of the block, for tests that each undo what they change.

    None of the module's tests may commit.
    """
    with blocker.unblock(), transaction.atomic():
        yield
        transaction.set_rollback(True)


def empty_tables(test_case: TransactionTestCase) -> None:
    """Delete all rows and what waits in queues, in some milliseconds.

    Django would truncate all tables, most of them empty, and write permissions anew, which takes half a second.
    As a truncation does, this waits until whoever is writing is done.
    """
    every = [name for name in connection.introspection.django_table_names(only_existing=True) if name not in KEPT]
    tables = [connection.ops.quote_name(name) for name in every]
    for left in reversed(range(TRIES)):
        try:
            _delete_all(tables)
            return
        except OperationalError:  # such as a deadlock with a worker, which is ended then
            if not left:
                raise


def _delete_all(tables: list[str]) -> None:
    with transaction.atomic(), connection.cursor() as cursor:
        cursor.execute(f"SET LOCAL lock_timeout = '{LOCK_TIMEOUT}s'")
        cursor.execute(f"LOCK TABLE {', '.join(tables)} IN SHARE ROW EXCLUSIVE MODE")
        cursor.execute(f"SELECT {', '.join(f'EXISTS (SELECT FROM {table})' for table in tables)}")
        used = [table for table, has_rows in zip(tables, cursor.fetchone(), strict=True) if has_rows]
        # As all rows go, nothing need look for those that refer to them. Who may not say so waits a little longer.
        cursor.execute("SELECT rolsuper FROM pg_roles WHERE rolname = current_user")
        if cursor.fetchone()[0]:
            cursor.execute("SET LOCAL session_replication_role = replica")
        for table in [*used, *(f"pgmq.q_{queue}" for queue in settings.QUEUES)]:
            cursor.execute(f"DELETE FROM {table}")
