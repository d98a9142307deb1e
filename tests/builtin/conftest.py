"""Provide the API clients of Alice, who owns the test data, and of Charlie, another user."""

from tests.memories.conftest import alice as alice
from tests.memories.conftest import charlie as charlie
