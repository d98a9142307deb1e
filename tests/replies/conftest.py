"""Fixtures: Alice with a connected model, and a chat that ends with her turn."""

import pytest
from rest_framework.test import APIClient

from apps.chats.models import Chat
from tests.factories import make_character, make_chat
from tests.llm.conftest import alice, connect, no_waiting, server  # noqa: F401
from tests.prompts.conftest import client_of


@pytest.fixture
def api(alice) -> APIClient:  # noqa: F811
    return client_of(alice)


@pytest.fixture
def chat(alice) -> Chat:  # noqa: F811
    return make_chat(alice, "Where is the well?", "Over there.", "Show me.", character=make_character(alice))
