"""Fixtures: Alice, who owns the test data, and Charlie, another user."""

from tests.memories.conftest import alice as alice
from tests.memories.conftest import charlie as charlie
