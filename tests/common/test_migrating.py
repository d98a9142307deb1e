"""Several processes may migrate at once: they wait for each other."""

import threading

import psycopg
import pytest
from django.core.management import call_command
from django.db import connection

from apps.common.management.commands.migrate import MIGRATION_LOCK


@pytest.mark.django_db(transaction=True)
def test_migrations_wait_for_those_of_another_process() -> None:
    done = threading.Event()

    def migrate() -> None:
        call_command("migrate", interactive=False, verbosity=0)
        connection.close()
        done.set()

    given = connection.get_connection_params()
    parameters = {name: given[name] for name in ("dbname", "user", "password", "host", "port") if name in given}
    with psycopg.connect(**parameters, autocommit=True) as other:
        other.execute("SELECT pg_advisory_lock(%s)", [MIGRATION_LOCK])
        thread = threading.Thread(target=migrate)
        thread.start()
        assert not done.wait(1)
        other.execute("SELECT pg_advisory_unlock(%s)", [MIGRATION_LOCK])
        assert done.wait(60)
        thread.join()
        free = other.execute("SELECT pg_try_advisory_lock(%s)", [MIGRATION_LOCK]).fetchone()
    assert free == (True,), "the lock is kept"
