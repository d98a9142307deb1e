"""Alice, who owns what the tests make, and Charlie, a stranger; each through the API."""

import pytest

from apps.llm.http import endpoint
from tests.memories.conftest import alice as alice
from tests.memories.conftest import charlie as charlie


@pytest.fixture(autouse=True)
def no_waiting(monkeypatch: pytest.MonkeyPatch) -> None:
    """In this process, tries follow each other at once, where the server doesn't ask for a wait."""
    monkeypatch.setattr(endpoint, "BACKOFF", 0.001)
