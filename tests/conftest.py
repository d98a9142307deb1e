"""What every test may use: the embedded Postgres, a real Celery worker, a browser."""

import contextlib
import os
import shutil
from collections.abc import Iterator

import pytest
from django.conf import settings
from hypothesis import settings as hypothesis_settings

from apps.common import embedded_postgres
from config.env import database_home
from tests.settings import TEST_HOME

# On a machine with two busy cores an example may take any time.
hypothesis_settings.register_profile("loci", deadline=None)
hypothesis_settings.load_profile("loci")


@pytest.fixture(scope="session")
def embedded_database() -> Iterator[None]:
    """The test run's own Postgres, up until the last test; nothing where `DATABASE_URL` names another."""
    with embedded_postgres.running(database_home(), durable=False):
        yield
    if not TEST_HOME:
        shutil.rmtree(settings.LOCI_HOME, ignore_errors=True)


@pytest.fixture(scope="session")
def django_db_modify_db_settings(embedded_database: None) -> None:
    """Have the database up before pytest-django creates the test database in it."""
