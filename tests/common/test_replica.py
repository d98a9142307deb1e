"""Without a replica everything is read from the primary."""

import pytest
from django.conf import settings

from apps.common.database.replica import REPLICA, from_replica, reading_connection
from config.env import replica_database


def test_without_the_variable_there_is_none(monkeypatch: pytest.MonkeyPatch) -> None:
    assert REPLICA not in settings.DATABASES
    monkeypatch.delenv("DATABASE_REPLICA_URL", raising=False)
    assert replica_database() is None
    assert from_replica(lambda: reading_connection().alias) == "default"
