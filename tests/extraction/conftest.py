"""Alice, who owns what the tests make, and Charlie, a stranger; each through the API."""

from tests.memories.conftest import alice as alice
from tests.memories.conftest import charlie as charlie
