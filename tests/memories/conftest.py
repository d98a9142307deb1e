"""Alice, who owns what the tests make, and Charlie, a stranger; each through the API."""

import pytest
from rest_framework.test import APIClient

from apps.accounts.models import User
from tests.contract.conftest import client_of


@pytest.fixture
def alice(db: None) -> APIClient:
    return client_of(User.objects.create_user("alice@example.com", "alice-password"))


@pytest.fixture
def charlie(db: None) -> APIClient:
    return client_of(User.objects.create_user("charlie@example.com", "charlie-password"))
